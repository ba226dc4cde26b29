"""Number, size and time formats."""

from datetime import UTC, datetime, timedelta

import pytest

from grader.models import Color
from grader.text import iso
from webapp.presentation import formats

TIME = datetime(2026, 3, 4, 23, 58, tzinfo=UTC)


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        *((formats.size, each, text) for each, text in ((0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"))),
        *((formats.size, each, text) for each, text in ((61_300_000, "61.3 MB"), (2 * 10**9, "2 GB"))),
        *((formats.ordinal, each, text) for each, text in ((1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"))),
        *((formats.ordinal, each, text) for each, text in ((12, "12th"), (41, "41st"), (1013, "1,013th"))),
        (formats.column_name, "psychiatric_or_mental_illness", "psychiatric or mental illness"),
        *((formats.column_name, each, text) for each, text in (("a__b_", "a b"), ("_", "_"))),
        (formats.span, timedelta(days=3, hours=4, minutes=5), "3 d 4 h"),
        (formats.span, timedelta(days=3), "3 d"),
        (formats.span, timedelta(minutes=12, seconds=5), "12 min 5 s"),
        (formats.span, timedelta(seconds=-5), "0 s"),
        (formats.moment, TIME, "4 Mar 2026, 23:58 UTC"),
        (formats.short_moment, TIME.replace(year=2024), "4 Mar 2024, 23:58 UTC"),
        (formats.short_moment, TIME.replace(year=datetime.now(UTC).year), "4 Mar, 23:58 UTC"),
        *((iso, each, text) for each, text in ((TIME, "2026-03-04T23:58:00Z"), (None, None))),
        *((formats.shade, each, text) for each, text in ((None, "undefined"), (0.49, "h0"), (0.5, "h1"))),
        *((formats.shade, each, text) for each, text in ((0.93, "h7"), (0.98, "h9"), (1.0, "h10"))),
        *((formats.initials, each, text) for each, text in (("Ada B. King", "AK"), ("foxes", "F"))),
        *((formats.initials, each, text) for each, text in (("  7 of 9 ", "79"), ("★ Zoë", "Z"), ("★", "?"))),
        *((formats.initials, each, text) for each, text in (("", "?"), ("Ülkü é", "ÜÉ"))),
    ],
)
def test_values_are_shown_as_text(form, value, text):
    assert form(value) == text


@pytest.mark.parametrize(
    ("text", "exact", "short"),
    [
        ("28797.34311", "28,797.34311", "28,797.3"),
        ("-1234567.50000", "-1,234,567.50000", "-1,234,568"),
        ("+1250.00000", "+1,250.00000", "+1,250.00"),
        ("0.000001234567", "0.000001234567", "0.00000123457"),
        ("9.00720e+10", "9.00720e+10", "9.00720e+10"),
        ("", "", ""),
    ],
)
def test_digits_of_numbers_are_grouped_and_only_decimals_are_shortened(text, exact, short):
    assert (formats.number(text), formats.number(text, 6)) == (exact, short)


def test_a_share_of_nothing_is_0_percent():
    assert formats.percent(0, 0) == "0%"


def test_a_color_is_chosen_or_follows_from_the_name():
    assert [formats.color_class("x", color) for color in list(Color)[1:]] == [
        f"color-{n}" for n in range(1, 9)
    ]
    derived = {formats.color_class(f"name {number}") for number in range(100)}
    assert derived == {f"color-{n}" for n in range(1, 9)}
    assert formats.color_class("Zoë") == formats.color_class("zoË")

"""Number, size and time formats."""

from datetime import UTC, datetime, timedelta

import pytest

from grader.models import Color
from grader.text import iso
from webapp.presentation import formats


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (61_300_000, "61.3 MB"), (2 * 10**9, "2 GB")],
)
def test_sizes(size_bytes, text):
    assert formats.size(size_bytes) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [("psychiatric_or_mental_illness", "psychiatric or mental illness"), ("a__b_", "a b"), ("_", "_")],
)
def test_column_names_are_shown_with_spaces(name, shown):
    assert formats.column_name(name) == shown


@pytest.mark.parametrize(
    ("text", "exact", "short"),
    [
        ("28797.34311", "28,797.34311", "28,797.3"),
        ("-1234567.50000", "-1,234,567.50000", "-1,234,568"),
        ("+1250.00000", "+1,250.00000", "+1,250.00"),
        ("10000000000.00000", "10,000,000,000.00000", "10,000,000,000"),
        ("0.93412", "0.93412", "0.93412"),
        ("0.000001234567", "0.000001234567", "0.00000123457"),
        ("9.00720e+10", "9.00720e+10", "9.00720e+10"),
        ("", "", ""),
    ],
)
def test_digits_of_numbers_are_grouped_and_only_decimals_are_shortened(text, exact, short):
    assert (formats.number(text), formats.number(text, 6)) == (exact, short)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (41, "41st"),
        (1013, "1,013th"),
    ],
)
def test_ordinals(number, text):
    assert formats.ordinal(number) == text


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(days=3, hours=4, minutes=5), "3 d 4 h"),
        (timedelta(days=3), "3 d"),
        (timedelta(minutes=12, seconds=5), "12 min 5 s"),
        (timedelta(seconds=-5), "0 s"),
    ],
)
def test_durations(duration, text):
    assert formats.span(duration) == text


def test_times():
    time = datetime(2026, 3, 4, 23, 58, tzinfo=UTC)
    assert formats.moment(time) == "4 Mar 2026, 23:58 UTC"
    assert formats.short_moment(time.replace(year=datetime.now(UTC).year)) == "4 Mar, 23:58 UTC"
    assert formats.short_moment(time.replace(year=2024)) == "4 Mar 2024, 23:58 UTC"
    assert iso(time) == "2026-03-04T23:58:00Z"
    assert iso(None) is None


def test_counts_include_their_noun():
    assert formats.counted(1, "problem") == "1 problem"
    assert formats.counted(1200, "entry", "entries") == "1,200 entries"
    assert formats.percent(0, 0) == "0%"


@pytest.mark.parametrize(
    ("value", "shade"),
    [(None, "undefined"), (0.0, "h0"), (0.49, "h0"), (0.5, "h1"), (0.93, "h7"), (0.98, "h9"), (1.0, "h10")],
)
def test_a_weaker_cell_has_a_stronger_shade(value, shade):
    assert formats.shade(value) == shade


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("Ada B. King", "AK"),
        ("foxes", "F"),
        ("  7 of 9 ", "79"),
        ("★ Zoë", "Z"),
        ("★", "?"),
        ("", "?"),
        ("Ülkü é", "ÜÉ"),
    ],
)
def test_initials_are_the_first_characters_of_the_first_and_last_word(name, letters):
    assert formats.initials(name) == letters


def test_a_color_is_chosen_or_follows_from_the_name():
    assert [formats.color_class("x", color) for color in list(Color)[1:]] == [
        f"color-{n}" for n in range(1, 9)
    ]
    derived = {formats.color_class(f"name {number}") for number in range(100)}
    assert derived == {f"color-{n}" for n in range(1, 9)}
    assert formats.color_class("Zoë") == formats.color_class("zoË")

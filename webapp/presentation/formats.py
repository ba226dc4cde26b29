"""Number, size, date and duration formats, and shades for table cells."""

import re
from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zlib import crc32

import regex
from flask import Flask

from grader.models import Color
from grader.ranking.order import error_text
from grader.services.leaderboards import group_tables
from grader.text import counted
from webapp.presentation.terms import EXACTNESS, IDENTITY_TERMS, explained

_DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
UNITS = ("bytes", "kB", "MB", "GB")
# All shades have one hue and differ in lightness, so they can be told apart without color vision. Each cell
# also shows its number. The classes are narrow near 1, where good models differ.
BOUNDS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.99)
SHADES = tuple(f"h{place}" for place in range(len(BOUNDS) + 1))
LEGEND = tuple(zip(SHADES, (f"<{BOUNDS[0]}", *map(str, BOUNDS)), strict=True))  # the lowest AUC of each shade


def count(number: int) -> str:
    """Format an integer: `1,804,874`."""
    return f"{number:,}"


def number(text: str, digits: int | None = None) -> str:
    """Group the digits of a displayed number: `28,797.34311`.

    With `digits`, shorten its decimals to as many significant digits: `28,797.3`. A text that is not a
    decimal number, such as `9.00720e+10`, is returned unchanged.
    """
    if not _DECIMAL.fullmatch(text):
        return text
    value, places = Decimal(text), len(text.partition(".")[2])
    if digits is not None and value:
        places = min(places, max(digits - value.adjusted() - 1, 0))
    return f"{'+' if text.startswith('+') else ''}{value:,.{places}f}"


def column_name(name: str) -> str:
    """Return the display name of a column: `psychiatric or mental illness`."""
    return " ".join(name.replace("_", " ").split()) or name


def initials(name: str) -> str:
    """Return the first characters of a name's first and last words in upper case: `AK` for `Ada B. King`."""
    words = name.split()
    matches = (regex.search(r"[\p{L}\p{N}]\p{M}*", word) for word in words[:1] + words[1:][-1:])
    return "".join(match[0] for match in matches if match).upper() or "?"


def color_class(name: str, color: Color = Color.AUTO) -> str:
    """Return the CSS class of a color; without one, of the color that follows from the name."""
    colors = list(Color)
    number = colors.index(color) or 1 + crc32(name.casefold().encode()) % (len(colors) - 1)
    return f"color-{number}"


def size(size_bytes: int) -> str:
    """Format a size in decimal units, like file managers: `61.3 MB`; whole numbers have no fraction."""
    value = float(size_bytes)
    for unit in UNITS:
        if value < 1000 or unit == UNITS[-1]:
            break
        value /= 1000
    return f"{value:.1f}".removesuffix(".0") + f" {unit}"


def percent(part: int, whole: int) -> str:
    """Format a share: `50%`."""
    return f"{part / whole:.0%}" if whole else "0%"


def ordinal(number: int) -> str:
    """Format an ordinal: `1st`, `12th`, `42nd`."""
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{suffix}"


def moment(time: datetime) -> str:
    """Format a time with its year: `14 Mar 2026, 23:58 UTC`."""
    return f"{time.day} {time:%b %Y, %H:%M} UTC"


def short_moment(time: datetime) -> str:
    """Format a time: `14 Mar, 23:58 UTC`, with the year if it is not the current one."""
    year = "" if time.year == datetime.now(UTC).year else f" {time.year}"
    return f"{time.day} {time:%b}{year}, {time:%H:%M} UTC"


def span(duration: timedelta) -> str:
    """Return the two leading units of a duration: `3 d 4 h`, `12 min 5 s`."""
    seconds = max(0, int(duration.total_seconds()))
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    leading = next((place for place, (_, length) in enumerate(units) if seconds >= length), 3)
    parts: list[str] = []
    for name, length in units[leading : leading + 2]:
        amount, seconds = divmod(seconds, length)
        if amount or not parts:
            parts.append(f"{amount} {name}")
    return " ".join(parts)


def capitalized(sentence: str) -> str:
    """Return a sentence with its first letter capitalized and the others unchanged."""
    return sentence[:1].upper() + sentence[1:]


def auc(value: float | None, form: str = ".2f") -> str:
    """Format an AUC, or a difference of AUCs."""
    return "undefined" if value is None else format(value, form)


def group_value(value: float) -> str:
    """Format the value of a group: `0.870`, `12,300`."""
    return number(group_tables.text(value))


def shade(value: float | None) -> str:
    """Return the shade class of an AUC: from `h0` (below 0.5) to `h10` (0.99 or above), or `undefined`."""
    return "undefined" if value is None else SHADES[bisect_right(BOUNDS, value)]


def init_app(app: Flask) -> None:
    """Register the formats as template filters."""
    for format_ in (
        *(auc, capitalized, color_class, column_name, count, error_text, explained, group_value),
        *(initials, moment, number, ordinal, percent, shade, short_moment, size, span),
    ):
        app.add_template_filter(format_)
    app.add_template_global(counted)
    app.jinja_env.globals |= {
        "shade_legend": LEGEND,
        "exactness": EXACTNESS,
        "identity_terms": IDENTITY_TERMS,
    }
    app.jinja_env.policies["urlize.rel"] = "nofollow ugc noopener"

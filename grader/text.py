"""Text helpers: plain text, message wording, times, spreadsheet-safe CSV, and paths."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from importlib.resources import files

# Patterns of the parts of a path.
_SYSTEM_FILES = files("grader").joinpath("system_files.txt").read_text("utf-8").lower().split("\n")[:-1]

# PostgreSQL rejects NUL characters, and surrogates cannot be encoded as UTF-8.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# Bidirectional embeddings, overrides and isolates can reorder the surrounding text on a page.
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
LONGEST_QUOTE = 48
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_PLAIN_WORD = re.compile(rf"[A-Za-z0-9_.-]{{1,{LONGEST_QUOTE}}}")
_NUMBER = re.compile(r"[+-]?[\d,.]+|")
# Characters that spreadsheets interpret as the start of a formula, including full-width forms, and whitespace
# that they skip before a formula.
FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
SIGNED_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?", re.ASCII)


def not_installed(package: str, user: str, extra: str) -> str:
    """Return the sentence that `user` needs a package of an extra, with the way to install it."""
    return (
        f"{user} needs {package}, which is not installed. Install the wheel that `make wheel` builds, with "
        f"its `{extra}` extra (pip install './fairboard-VERSION-py3-none-any.whl[{extra}]'), or run "
        "`make setup` in a checkout."
    )


def folded(text: str) -> str:
    """Return the normalized form of a text for case-insensitive lookups."""
    return unicodedata.normalize("NFKC", text.casefold())


def is_storable(text: str) -> bool:
    """Return whether a text can be stored and used in queries unchanged."""
    return _UNSTORABLE.search(text) is None


def one_line(text: str, max_length: int) -> str:
    """Return `text` as one line without control characters, truncated to `max_length`."""
    return " ".join(_storable(text).split())[:max_length].rstrip()


def plain_text(text: str) -> str:
    """Return `text` without control characters, preserving line breaks."""
    return "\n".join(_storable(line).rstrip() for line in text.splitlines()).strip()


def without_directions(text: str) -> str:
    """Return `text` without characters that change the direction of surrounding text."""
    return _DIRECTIONS.sub("", text)


def _storable(text: str) -> str:
    # Control characters are replaced with spaces, so that users who paste from a terminal need not remove
    # them.
    text = without_directions(text)
    return "".join(" " if unicodedata.category(char) in {"Cc", "Cs"} else char for char in text)


def quoted(value: str | bytes) -> str:
    """Return the value in quotes, truncated, with invisible characters escaped."""
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
    if len(text) > LONGEST_QUOTE:
        text = text[: LONGEST_QUOTE - 1] + "…"
    visible = [char if char.isprintable() else _ESCAPES.get(char, f"<U+{ord(char):04X}>") for char in text]
    return f"'{''.join(visible)}'"


def named(row_id: str) -> str:
    """Format an id for use in a sentence: quoted, unless it is one plain word."""
    return row_id if _PLAIN_WORD.fullmatch(row_id) else quoted(row_id)


def character(char: str) -> str:
    """Describe a character by its code point and name, such as ``U+00A0 (no-break space)``."""
    name = unicodedata.name(char, "").lower()
    return f"U+{ord(char):04X}" + (f" ({name})" if name else "")


def counted(count: int, noun: str, *, at_least: bool = False) -> str:
    """Format a count with its noun, such as ``1 row`` or ``at least 97,320 rows``."""
    return f"{'at least ' if at_least else ''}{count:,} {noun}{'s' if count != 1 else ''}"


def listed(names: Sequence[str], *, most: int = 5, total: int | None = None) -> str:
    """Join at most `most` names for use in a sentence, and count the rest.

    `names` may contain only the first of `total` names.
    """
    shown = list(names[:most])
    left_out = (len(names) if total is None else total) - len(shown)
    if left_out:
        shown.append(f"{left_out:,} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table with a heading; columns that contain only numbers are right-aligned."""
    columns = list[list[str]]()
    for heading, *cells in zip(*lines, strict=True):
        width = max(map(len, (heading, *cells)))
        align = str.rjust if all(map(_NUMBER.fullmatch, cells)) else str.ljust
        columns.append([align(cell, width) for cell in (heading, *cells)])
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


def megabytes(size: int) -> str:
    """Format a size in bytes for display, such as ``61.3 MB``, ``50 MB`` or ``812 bytes``."""
    if size < 10_000:
        return f"{size:,} bytes"
    return f"{size / 1_000_000:,.1f}".removesuffix(".0") + " MB"


def safe(text: str) -> str:
    """Prefix an apostrophe to text that a spreadsheet could evaluate as a formula.

    Signed numbers start like formulas but are returned unchanged, so that they remain numbers.
    """
    is_formula = text.lstrip(" ").startswith(FORMULA_STARTS) and not SIGNED_NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def unsafe(text: str) -> str:
    """Return a text without the apostrophe that `safe` adds."""
    return text[1:] if text.startswith("'") and safe(text[1:]) == text else text


def csv_lines(rows: Iterable[Iterable[object]], *, line_end: str = "\r\n") -> str:
    """Return rows as CSV, with all text made safe for spreadsheets."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerows([safe(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()


def utc(time: datetime) -> datetime:
    """Convert an entered time to UTC; a time without a time zone is taken as UTC.

    Raises ValueError if the result is outside the years 1 to 9999.
    """
    try:
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise ValueError("must be in the years 1 to 9999 (UTC)") from None


def require_local(path: str) -> None:
    """Raise ValueError for a path that is a URL, also one that was normalized, or refers to another machine.

    A local path with a colon in its first part can be written as ``./s3:/bucket``.
    """
    if ":" in path.strip().partition("/")[0]:
        raise ValueError(f"{path!r} is a URL or a remote address, not a path such as /srv/fairboard")


def is_system_file(name: str) -> bool:
    """Return whether an operating system adds a file with this path to folders and archives."""
    parts = name.lower().replace("\\", "/").split("/")
    return any(fnmatchcase(part, pattern) for part in parts for pattern in _SYSTEM_FILES)


def iso(time: datetime | None) -> str | None:
    """Return a time in ISO 8601: `2026-03-14T23:58:00Z`."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z") if time else None

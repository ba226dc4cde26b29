"""Text helpers: plain text, wording of messages, times, CSV safe in spreadsheets, paths."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

# PostgreSQL refuses NUL, and surrogates have no UTF-8.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# Embeddings, overrides and isolates: they reorder the text around them, also on the rest of a page.
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
LONGEST_QUOTE = 48
_PLAIN_WORD = re.compile(rf"[A-Za-z0-9_.-]{{1,{LONGEST_QUOTE}}}")
_NAMES = {
    0x00A0: "no-break space",
    0x200B: "zero-width space",
    0x200C: "zero-width non-joiner",
    0x200D: "zero-width joiner",
    0x2060: "word joiner",
    0xFEFF: "byte order mark",
}
# What spreadsheets take for the start of a formula, in both widths, and what they skip before one.
FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
SIGNED_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?", re.ASCII)
# A scheme or host (a single letter is a Windows drive) before a colon and a slash; user@host before a colon.
_ELSEWHERE = re.compile(r"(\w[\w.+-]+|\[[\da-fA-F:.]+\]):/|[\w.+-]+@[\w.:\[\]-]+:")


def folded(text: str) -> str:
    """Return the form of a clean text for look-ups in any case."""
    return unicodedata.normalize("NFKC", text.casefold())


def is_storable(text: str) -> bool:
    """Return whether a text can be looked for and stored as it is."""
    return _UNSTORABLE.search(text) is None


def one_line(text: str, max_length: int) -> str:
    """Return `text` on one line, without control characters, cut to `max_length`."""
    return " ".join(_storable(text).split())[:max_length].rstrip()


def plain_text(text: str) -> str:
    """Return `text` with its lines, each without control characters."""
    return "\n".join(_storable(line).rstrip() for line in text.splitlines()).strip()


def without_directions(text: str) -> str:
    """Return `text` without the characters that set the direction of the text around them."""
    return _DIRECTIONS.sub("", text)


def _storable(text: str) -> str:
    # Controls become spaces: who pastes from a terminal need not look for them.
    text = without_directions(text)
    return "".join(" " if unicodedata.category(char) in {"Cc", "Cs"} else char for char in text)


def quoted(value: str | bytes) -> str:
    """Return the value in quotes, shortened, with every invisible character spelled out."""
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
    if len(text) > LONGEST_QUOTE:
        text = text[: LONGEST_QUOTE - 1] + "…"
    visible = "".join(char if char.isprintable() else _escape(char) for char in text)
    return f"'{visible}'"


def named(row_id: str | bytes) -> str:
    """Return an id for a sentence: bare where it is one plain word, else in quotes."""
    text = row_id.decode("utf-8", "backslashreplace") if isinstance(row_id, bytes) else row_id
    return text if _PLAIN_WORD.fullmatch(text) else quoted(text)


def _escape(char: str) -> str:
    return {"\t": "\\t", "\n": "\\n", "\r": "\\r"}.get(char, f"<U+{ord(char):04X}>")


def character(char: str) -> str:
    """Name one character by its code point: ``U+00A0 (no-break space)``."""
    name = _NAMES.get(ord(char))
    return f"U+{ord(char):04X}" + (f" ({name})" if name else "")


def plural(noun: str, count: int) -> str:
    """Return the noun for so many things."""
    return noun if count == 1 else noun + "s"


def counted(count: int, noun: str, *, at_least: bool = False) -> str:
    """Return ``1 row``, ``97,320 rows`` or ``at least 97,320 rows``."""
    return f"{'at least ' if at_least else ''}{count:,} {plural(noun, count)}"


def listed(names: Sequence[str], *, conjunction: str = "and", most: int = 5, total: int | None = None) -> str:
    """Join names for a sentence, at most `most` of them; `names` may be the first of `total`."""
    shown = list(names[:most])
    left_out = (len(names) if total is None else total) - len(shown)
    if left_out:
        shown.append(f"{left_out:,} more")
    return f" {conjunction} ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def megabytes(size: int) -> str:
    """Return a size as people read it: ``61.3 MB``, ``50 MB``, ``812 bytes``."""
    if size < 10_000:
        return f"{size:,} bytes"
    return f"{size / 1_000_000:.1f}".removesuffix(".0") + " MB"


def safe(text: str) -> str:
    """Return a text that no spreadsheet computes: prefix an apostrophe to anything like a formula.

    A number with its sign begins like one and is none: it stays a number for whoever reads the file.
    """
    if SIGNED_NUMBER.fullmatch(text):
        return text
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA_STARTS) else text


def csv_lines(rows: Iterable[Iterable[object]], *, line_end: str = "\r\n") -> str:
    """Return rows as CSV; every text in them is made safe."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerows([safe(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue()


def utc(time: datetime) -> datetime:
    """Return an entered time in UTC, the zone of a time without one; raise ValueError beyond the calendar."""
    try:
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise ValueError("must lie in the years 1 to 9999 of UTC") from None


def is_elsewhere(path: str) -> bool:
    """Return whether a text that should be a path is a URL or names another machine.

    Returns
    -------
    bool
        True also for ``file:`` URLs, for URLs that became paths (``s3:/bucket``) and for ``user@host:x``. A
        path with such a name is written ``./s3:/bucket``.

    Examples
    --------
    >>> [is_elsewhere(path) for path in ("s3://bucket/x", "backup@host:/srv", "/srv/x", "./s3:/bucket")]
    [True, True, False, False]
    """
    return _ELSEWHERE.match(path.strip()) is not None


def not_a_path(path: str) -> str:
    """Return the error message for such a path."""
    return f"{path!r} is an address, and a path on this machine is needed, such as /srv/fairboard."

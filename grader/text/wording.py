"""Wording of messages: quote values, count things."""

import re
from collections.abc import Sequence

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

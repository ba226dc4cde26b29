"""Texts that people send along: kept to what every database can store and every page can show."""

import unicodedata


def one_line(text: str, max_length: int) -> str:
    """Return `text` on one line, without control characters, cut to `max_length`."""
    return " ".join(_storable(text).split())[:max_length].rstrip()


def plain_text(text: str) -> str:
    """Return `text` with its lines, each without control characters."""
    return "\n".join(_storable(line).rstrip() for line in text.splitlines()).strip()


def _storable(text: str) -> str:
    # Controls become spaces: PostgreSQL refuses NUL. Surrogates have no UTF-8.
    return "".join(" " if unicodedata.category(char) in {"Cc", "Cs"} else char for char in text)

"""Clean plain text from people, so that every database can store and every page can show it."""

import re
import unicodedata

# PostgreSQL refuses NUL, and surrogates have no UTF-8.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# Embeddings, overrides and isolates: they reorder the text around them, also on the rest of a page.
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")


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

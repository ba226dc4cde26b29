"""The names of people and teams: shown as typed, unique however they are typed."""

import re
import unicodedata

MAX_LENGTH = 64

# Controls, formatting (zero-width and direction characters), surrogates, private use, unassigned, spaces.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def shown(name: str) -> str:
    """Return a name as it is shown: NFKC, without spaces at the ends, single spaces within."""
    return re.sub(" +", " ", unicodedata.normalize("NFKC", name)).strip(" ")


def key(name: str) -> str:
    """Return the form of a shown name by which names are unique: without case."""
    return unicodedata.normalize("NFKC", name.casefold())


def problem(name: str) -> str | None:
    """Return the sentence that says why a shown name cannot be used, None if it can."""
    if not 1 <= len(name) <= MAX_LENGTH:
        return f"A name has 1 to {MAX_LENGTH} characters; this one has {len(name)}."
    hidden = next((char for char in name if char != " " and _is_hidden(char)), None)
    if hidden is not None:
        return f"A name cannot hold the invisible character U+{ord(hidden):04X}."
    if not any(char.isalnum() for char in name):
        return "A name needs at least one letter or digit."
    return None


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN_CATEGORIES

"""Parse numbers of a CSV, for the second implementation."""

import math

_CHARACTERS = frozenset("0123456789+-.eE")
_LONGEST = 512


def finite_number(text: str) -> float | None:
    """Return the float64 of a trimmed decimal number; None if it is not finite."""
    if len(text) > _LONGEST or not _CHARACTERS.issuperset(text):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None

"""Numbers of a CSV."""

import math

_CHARACTERS = frozenset("0123456789+-.eE")
_LONGEST = 512


def finite_number(text: str) -> float | None:
    """Return the float64 of a trimmed decimal number; None where it is no finite one."""
    if len(text) > _LONGEST or not _CHARACTERS.issuperset(text):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None

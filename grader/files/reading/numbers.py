"""Number format of predictions and labels, and reasons why a text is not a number."""

import math
import re
import sys

_GRAMMAR = rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
NUMBER = re.compile(_GRAMMAR)
BLANKS = " \t"
NUMBER_BYTES = b"0123456789eE+-."
LONGEST_NUMBER = 512
_PATTERNS = {
    code: re.compile(pattern, re.IGNORECASE)
    for code, pattern in {
        "empty_prediction": rb"",
        "too_large": _GRAMMAR,
        "nan_prediction": rb"[+-]?nan",
        "infinite_prediction": rb"[+-]?inf(?:inity)?",
        "missing_prediction": rb"none|null|nil|na|n/a|<na>|nat|missing|-++|\?++|#[a-z0-9/]++[!?]?|\\n",
        "decimal_comma": rb"[+-]?[0-9]*+,[0-9]++(?:e[+-]?[0-9]++)?",
    }.items()
}


def finite(value: bytes) -> float | None:
    """Return the correctly rounded float64 of a trimmed field, or None if it is not finite."""
    if len(value) > LONGEST_NUMBER or NUMBER.fullmatch(value) is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def domain_of(low: float, high: float) -> str:
    """Return a description of the finite numbers between two bounds."""
    has_low, has_high = low > -sys.float_info.max, high < sys.float_info.max
    if has_low and has_high:
        return f"a number from {low:g} to {high:g}"
    if has_low or has_high:
        return f"a number of at {f'least {low:g}' if has_low else f'most {high:g}'}"
    return "a finite decimal number such as 0.25"


def number_of(text: str) -> float | None:
    """Return the number in a text, NaN if it is blank, or None for any other text."""
    bare = text.strip(BLANKS)
    return finite(bare.encode("utf-8", "surrogateescape")) if bare else math.nan


def fault_of_number(value: bytes) -> str:
    """Return the problem code of a trimmed field that is not a finite number."""
    if len(value) > LONGEST_NUMBER:
        return "field_too_long"
    return next((code for code, pattern in _PATTERNS.items() if pattern.fullmatch(value)), "not_a_number")

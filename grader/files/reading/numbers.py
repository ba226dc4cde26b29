"""Number format of predictions and labels, and reasons why a text is not a number."""

import math
import re

from grader.files.reading.problems import Finding
from grader.text import character, quoted

_GRAMMAR = rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
NUMBER = re.compile(_GRAMMAR)
BLANKS = " \t"
NUMBER_BYTES = b"0123456789eE+-."
LONGEST_NUMBER = 512
# A pattern with a literal start is searched ten times as fast as one with a set of bytes.
_LARGE_EXPONENTS = re.compile(rb"e-[0-9]{3}"), re.compile(rb"E-[0-9]{3}")
_MANY_ZEROS = b"0" * 200
_NOT_ZERO = re.compile(rb"[+-]?[0.]*+[1-9]")
_EXPECTED = "a finite decimal number such as 0.25"
_CLASSES = {
    "empty_prediction": (rb"", "empty prediction"),
    "too_large": (_GRAMMAR, "{value} is too large for a 64-bit float"),
    "nan_prediction": (rb"[+-]?nan", "prediction is NaN ({value})"),
    "infinite_prediction": (rb"[+-]?inf(?:inity)?", "the prediction {value} is not finite"),
    "missing_prediction": (
        rb"none|null|nil|na|n/a|<na>|nat|missing|-++|\?++|#[a-z0-9/]++[!?]?|\\n",
        "the prediction {value} is a missing value",
    ),
    "decimal_comma": (
        rb"[+-]?[0-9]*+,[0-9]++(?:e[+-]?[0-9]++)?",
        "{value} is not a number (decimal comma?)",
    ),
}
_PATTERNS = {code: re.compile(pattern, re.IGNORECASE) for code, (pattern, _) in _CLASSES.items()}


def finite(value: bytes) -> float | None:
    """Return the correctly rounded float64 of a trimmed field, or None if it is not finite."""
    if len(value) > LONGEST_NUMBER or NUMBER.fullmatch(value) is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def number_of(text: str) -> float | None:
    """Return the number in a text, NaN if it is blank, or None for any other text."""
    bare = text.strip(BLANKS)
    return finite(bare.encode("utf-8", "surrogateescape")) if bare else math.nan


def underflows(value: bytes) -> bool:
    """Return whether a number that is read as 0 is not actually 0, such as ``1e-400``."""
    return _NOT_ZERO.match(value) is not None


def may_underflow(text: bytes) -> bool:
    """Return whether any number in a text may be too small for a float64."""
    return _MANY_ZEROS in text or any(pattern.search(text) for pattern in _LARGE_EXPONENTS)


def fault_of_number(value: bytes) -> str:
    """Return the problem code of a trimmed field that is not a finite number."""
    if len(value) > LONGEST_NUMBER:
        return "field_too_long"
    return next((code for code, pattern in _PATTERNS.items() if pattern.fullmatch(value)), "not_a_number")


def describe_number(code: str, value: bytes) -> Finding:
    """Describe a field that is not a finite number, given its problem code."""
    shown = quoted(value)
    _, sentence = _CLASSES.get(code, ("", "{value} is not a number"))
    if code == "field_too_long":
        sentence = f"field too long: {{value}} has more than {LONGEST_NUMBER} bytes"
    if foreign := next((char for char in value.decode("utf-8", "replace") if not char.isascii()), None):
        sentence += f" (it contains {character(foreign)})"
    return Finding(f"{sentence.replace('{value}', shown)}; expected {_EXPECTED}", _EXPECTED, shown)

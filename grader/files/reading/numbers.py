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

_MONTH = rb"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*+"
_CLASSES = (
    ("empty_prediction", rb"", "empty prediction"),
    ("too_large", _GRAMMAR, "{value} is too large for a 64-bit float"),
    ("nan_prediction", rb"[+-]?nan", "prediction is NaN ({value})"),
    ("infinite_prediction", rb"[+-]?inf(?:inity)?", "the prediction {value} is not finite"),
    (
        "missing_prediction",
        rb"none|null|nil|na|n/a|<na>|nat|missing|-++|\?++|#[a-z0-9/]++[!?]?|\\n",
        "the prediction {value} is a missing value",
    ),
    (
        "decimal_comma",
        rb"[+-]?[0-9]*+,[0-9]++(?:e[+-]?[0-9]++)?",
        "{value} is not a number (decimal comma?)",
    ),
    (
        "hexadecimal",
        rb"[+-]?0x[0-9a-f.]++(?:p[+-]?[0-9]++)?",
        "{value} is hexadecimal, not a decimal number",
    ),
    ("percent_sign", rb"[+-]?[0-9.,]++[ \t]*+%", "{value} has a percent sign"),
    ("formula", rb"=.*+", "{value} is a formula, not a number"),
    (
        "date",
        _MONTH + rb"[-/ .][0-9]{1,4}"
        rb"|[0-9]{1,4}[-/ .]" + _MONTH + rb"(?:[-/ .][0-9]{1,4})?"
        rb"|[0-9]{1,4}[-/][0-9]{1,2}[-/][0-9]{1,4}.*+"
        rb"|[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2,4}",
        "{value} looks like a date (converted by a spreadsheet?)",
    ),
    ("field_too_long", None, f"field too long: {{value}} has more than {LONGEST_NUMBER} bytes"),
)
_SENTENCES = {code: sentence for code, _, sentence in _CLASSES}
_CLASS = re.compile(
    b"|".join(
        b"(?P<%s>%s)" % (code.encode(), pattern) for code, pattern, _ in _CLASSES if pattern is not None
    ),
    re.IGNORECASE,
)


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
    match = _CLASS.fullmatch(value)
    return (match.lastgroup if match else None) or "not_a_number"


def describe_number(code: str, value: bytes) -> Finding:
    """Describe a field that is not a finite number, given its problem code."""
    sentence = _SENTENCES.get(code) or _unnamed(value)
    shown = quoted(value)
    return Finding(f"{sentence.replace('{value}', shown)}; expected {_EXPECTED}", _EXPECTED, shown)


def _unnamed(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    foreign = next((char for char in text if not char.isascii()), None)
    if foreign in ("\u2212", "\u2013", "\u2014"):
        return f"{{value}} has {character(foreign)} instead of '-'"
    if foreign is not None:
        return f"{{value}} is not a number: it contains {character(foreign)}"
    if value.lower() in (b"true", b"false"):
        return "{value} is a Boolean, not a number"
    if value.startswith(b"np.float"):
        return "{value} is not a number (NumPy 2 representation; write float(x))"
    return "{value} is not a number"

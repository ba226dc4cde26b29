"""The one grammar of numbers, ASCII decimal and finite, and names for what does not follow it."""

import math
import re
from collections.abc import Callable
from functools import partial

from grader.files.findings import Finding
from grader.files.wording import character, quoted

NUMBER = re.compile(rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
NUMBER_BYTES = b"0123456789eE+-."
LONGEST_NUMBER = 512

_EXPECTED = "a finite decimal number such as 0.25"
_NAN = re.compile(rb"[+-]?nan", re.IGNORECASE)
_INFINITE = re.compile(rb"[+-]?inf(?:inity)?", re.IGNORECASE)
_MISSING = re.compile(rb"none|null|nil|na|n/a|<na>|nat|missing|-+|\?+|#[a-z0-9/?!]+[!?]?|\\n", re.IGNORECASE)
_HEXADECIMAL = re.compile(rb"[+-]?0x[0-9a-f.]+(?:p[+-]?[0-9]+)?", re.IGNORECASE)
_PERCENT = re.compile(rb"[+-]?[0-9.,]+[ \t]*%")
_DECIMAL_COMMA = re.compile(rb"[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?")
_MONTH = rb"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rb"(?:" + _MONTH + rb"[-/ .][0-9]{1,4}|[0-9]{1,4}[-/ .]" + _MONTH + rb"(?:[-/ .][0-9]{1,4})?"
    rb"|[0-9]{1,4}[-/][0-9]{1,2}[-/][0-9]{1,4}.*|[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{2,4})",
    re.IGNORECASE,
)


def finite(value: bytes) -> float | None:
    """Return the correctly rounded float64 of a trimmed field; None where it is not a finite number."""
    if len(value) > LONGEST_NUMBER or NUMBER.fullmatch(value) is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def not_finite(value: bytes) -> tuple[str, Callable[[], Finding]]:
    """Name what is wrong with a trimmed field that is no finite number.

    Returns
    -------
    code : str
    describe : callable
        Makes the sentence; called for the first occurrence only.
    """
    for code, matches, reason in _CLASSES:
        if matches(value):
            return code, partial(_finding, value, reason)
    return "not_a_number", partial(_finding, value, _unnamed_reason(value))


def _finding(value: bytes, reason: str) -> Finding:
    """Fill the value into a reason such as ``"{value} is not a number"``."""
    shown = quoted(value)
    return Finding(f"{reason.replace('{value}', shown)}; expected {_EXPECTED}", _EXPECTED, shown)


_CLASSES: tuple[tuple[str, Callable[[bytes], object], str], ...] = (
    ("empty_prediction", lambda value: not value, "empty prediction"),
    (
        "field_too_long",
        lambda value: len(value) > LONGEST_NUMBER,
        f"field too long: {{value}} has more than {LONGEST_NUMBER} bytes",
    ),
    (
        "too_large",
        NUMBER.fullmatch,
        "{value} is too large for a 64-bit float",
    ),
    ("nan_prediction", _NAN.fullmatch, "prediction is NaN ({value})"),
    ("infinite_prediction", _INFINITE.fullmatch, "the prediction {value} is not finite"),
    ("missing_prediction", _MISSING.fullmatch, "the prediction {value} is a missing value"),
    ("decimal_comma", _DECIMAL_COMMA.fullmatch, "{value} is not a number (decimal comma?)"),
    ("hexadecimal", _HEXADECIMAL.fullmatch, "{value} is hexadecimal, not a decimal number"),
    ("percent_sign", _PERCENT.fullmatch, "{value} has a percent sign"),
    ("formula", lambda value: value.startswith(b"="), "{value} is a formula, not a number"),
    ("date", _DATE.fullmatch, "{value} looks like a date (spreadsheet damage?)"),
)


def _unnamed_reason(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    foreign = next((char for char in text if not char.isascii()), None)
    if foreign in ("\u2212", "\u2013", "\u2014"):
        return f"{{value}} has {character(foreign)} instead of '-'"
    if foreign is not None:
        return f"{{value}} is not a number: it holds {character(foreign)}"
    if value.lower() in (b"true", b"false"):
        return "{value} is a truth value, not a number"
    return "{value} is not a number"

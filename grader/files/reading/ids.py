"""Why a row id is unknown: empty, `12.0`, scientific notation, leading zero, invisible characters."""

import re
from collections.abc import Mapping
from unicodedata import normalize

from grader.files.reading.findings import Finding
from grader.text.wording import character, named, quoted

_INTEGRAL_DECIMAL = re.compile(rb"([0-9]{1,16})\.0*+")
_LARGEST_EXACT = 1 << 53
_CLASS_OF_INTEGERS = re.compile(
    rb"(?P<scientific_id>[+-]?[0-9]++(?:\.[0-9]*+)?e[+-]?[0-9]++)"
    rb"|(?P<unknown_id>-?[0-9]++(?:\.[0-9]++)?)",
    re.IGNORECASE,
)
INVISIBLE = re.compile("[\u00a0\u00ad\u2000-\u200f\u202f\u2060\u3000\ufeff]")
_AN_ID = "an id of the test set"
_DIGITS = "an id of digits 0-9 only"


def as_integer(value: bytes) -> bytes | None:
    """Return ``7000000`` for ``7000000.0``; None where the text is no exactly integral decimal."""
    match = _INTEGRAL_DECIMAL.fullmatch(value)
    return match[1] if match and int(match[1]) < _LARGEST_EXACT else None


def without_invisible(value: bytes) -> bytes:
    """Return an id without characters that nobody sees."""
    return INVISIBLE.sub("", value.decode()).encode()


def fault_of_id(value: bytes, *, are_integers: bool) -> str:
    """Return the code of what is wrong with a trimmed id that is not expected.

    Parameters
    ----------
    value : bytes
        Valid UTF-8.
    are_integers : bool
        Whether all expected ids are integers, so that anything else is no id at all.
    """
    if not value:
        return "empty_id"
    if not value.isascii() and INVISIBLE.search(value.decode()):
        return "invisible_character"
    if not are_integers:
        return "unknown_id"
    match = _CLASS_OF_INTEGERS.fullmatch(value)
    return (match.lastgroup if match else None) or "not_an_id"


def describe_id(code: str, value: bytes, index: Mapping[bytes, int]) -> Finding:
    """Say what is wrong with an id, given the code and the expected ids."""
    shown = quoted(value)
    if code == "empty_id":
        return Finding(f"empty id; expected {_AN_ID}", _AN_ID, "a blank")
    if code == "invisible_character":
        hidden = INVISIBLE.search(value.decode())
        name = character(hidden[0]) if hidden else ""
        return Finding(f"invisible character {name} in id {shown}; expected {_AN_ID}", _AN_ID, shown)
    if code == "scientific_id":
        sentence = f"id {shown} is in scientific notation; expected {_DIGITS}"
        return Finding(sentence, _DIGITS, shown)
    if code == "not_an_id":
        return Finding(f"{shown} is not an id; expected {_DIGITS}", _DIGITS, shown)
    sentence = f"id {named(value)} is not in the test set{_hint(value, index)}"
    return Finding(f"{sentence}; expected one of its ids", _AN_ID, shown)


def _hint(value: bytes, index: Mapping[bytes, int]) -> str:
    if value.lstrip(b"0") in index:
        return " (leading zero?)"
    if value.lower() in index or value.upper() in index:
        return " (case matters)"
    text = value.decode()
    if any(normalize(form, text).encode() in index for form in ("NFC", "NFD")):
        return " (composed and decomposed letters are different)"
    return ""

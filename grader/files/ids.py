"""Why an id is not one of the expected ids."""

import re
from collections.abc import Callable, Mapping
from functools import partial

from grader.files.findings import Finding
from grader.files.wording import character, named, quoted

_INTEGRAL_DECIMAL = re.compile(rb"([0-9]+)\.0*")
_LARGEST_EXACT = 1 << 53
_SCIENTIFIC = re.compile(rb"[+-]?[0-9]+(?:\.[0-9]*)?[eE][+-]?[0-9]+")
_PLAIN_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?")
INVISIBLE = re.compile("[\u00a0\u00ad\u2000-\u200f\u202f\u2060\u3000\ufeff]")

_AN_ID = "an id of the test set"

Reason = tuple[str, Callable[[], Finding]]


def as_integer(value: bytes) -> bytes | None:
    """Return ``7000000`` for ``7000000.0``; None where the text is no exactly integral decimal."""
    match = _INTEGRAL_DECIMAL.fullmatch(value)
    if match is None or len(match[1]) > 16 or int(match[1]) >= _LARGEST_EXACT:
        return None
    return match[1]


def unknown_id(value: bytes, index: Mapping[bytes, int], *, are_integers: bool) -> Reason:
    """Name what is wrong with a trimmed id that is not expected.

    Parameters
    ----------
    value : bytes
    index : mapping
        The expected ids.
    are_integers : bool
        Whether all expected ids are integers, so that anything else is no id at all.

    Returns
    -------
    code : str
    describe : callable
        Makes the sentence; called for the first occurrence only.
    """
    if not value:
        return "empty_id", lambda: Finding(f"empty id; expected {_AN_ID}", _AN_ID, "a blank")
    if not value.isascii() and (hidden := INVISIBLE.search(value.decode("utf-8", "replace"))):
        shown = character(hidden[0])
        return "invisible_character", partial(_finding, value, f"invisible character {shown} in id")
    if are_integers and _SCIENTIFIC.fullmatch(value):
        return "scientific_id", partial(_finding, value, "id {} is in scientific notation")
    if are_integers and _PLAIN_NUMBER.fullmatch(value) is None:
        return "not_an_id", partial(_finding, value, "{} is not an id", "an id of digits 0-9 only")
    return "unknown_id", partial(_unknown, value, index)


def _unknown(value: bytes, index: Mapping[bytes, int]) -> Finding:
    hint = ""
    if value.lstrip(b"0") in index:
        hint = " (leading zero?)"
    elif value.lower() in index or value.upper() in index:
        hint = " (case matters)"
    sentence = f"id {named(value)} is not in the test set{hint}"
    return Finding(f"{sentence}; expected one of its ids", _AN_ID, quoted(value))


def _finding(value: bytes, sentence: str, expected: str = _AN_ID) -> Finding:
    shown = quoted(value)
    said = sentence.replace("{}", shown) if "{}" in sentence else f"{sentence} {shown}"
    return Finding(f"{said}; expected {expected}", expected, shown)

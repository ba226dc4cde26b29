"""Why an id is not one of the expected ids."""

import re
from collections.abc import Callable, Mapping

from grader.files.findings import Finding
from grader.files.wording import character, quoted

_INTEGRAL_DECIMAL = re.compile(rb"([0-9]+)\.0*")
_LARGEST_EXACT = 1 << 53
_SCIENTIFIC = re.compile(rb"[+-]?[0-9]+(?:\.[0-9]*)?[eE][+-]?[0-9]+")
_PLAIN_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?")
_INVISIBLE = re.compile("[\u00a0\u00ad\u2000-\u200f\u202f\u2060\u3000\ufeff]")

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
        return "empty_id", lambda: Finding("empty id; expected an id of the test set", "an id", "''")
    if not value.isascii() and (hidden := _INVISIBLE.search(value.decode("utf-8", "replace"))):
        return "invisible_character", lambda: _invisible(value, hidden[0])
    if are_integers and _SCIENTIFIC.fullmatch(value):
        return "scientific_id", lambda: _finding(value, "id {} is in scientific notation")
    if are_integers and _PLAIN_NUMBER.fullmatch(value) is None:
        return "not_an_id", lambda: _finding(value, "{} is not an id", "an id of digits 0-9 only")
    return "unknown_id", lambda: _finding(value, "id {} is not in the test set" + _hint(value, index))


def _hint(value: bytes, index: Mapping[bytes, int]) -> str:
    if value.lstrip(b"0") in index:
        return " (leading zero?)"
    if value.lower() in index or value.upper() in index:
        return " (case matters)"
    return ""


def _invisible(value: bytes, char: str) -> Finding:
    shown = character(char)
    return Finding(f"invisible character {shown} in id {quoted(value)}", "an id of the test set", shown)


def _finding(value: bytes, sentence: str, expected: str = "an id of the test set") -> Finding:
    shown = quoted(value)
    return Finding(f"{sentence.replace('{}', shown)}; expected {expected}", expected, shown)

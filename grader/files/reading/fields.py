"""Split one CSV line into fields, with quotes."""

import re
from enum import Enum
from functools import cache

BLANKS = b" \t"
_PLAINLY_QUOTED = re.compile(rb'(?:("?)[^",]*+\1(?:,|\Z))*+')


class QuoteFault(Enum):
    """What is wrong with the quotes of a line."""

    STRAY = "a quote in the middle of a field"
    OPEN = "a quote that is opened and not closed on its line"


def split_fields(line: bytes, delimiter: bytes = b",", most: int = -1) -> list[bytes] | QuoteFault:
    """Split a line into fields without surrounding spaces, tabs and quotes.

    Quotes follow RFC 4180: they enclose a whole field, and are doubled inside it. With `most`, the
    last field of an unquoted line holds all that follows the first `most` ones.
    """
    if b'"' not in line:
        return [field.strip(BLANKS) for field in line.split(delimiter, most)]
    pattern = _field(delimiter)
    fields, position = [], 0
    while True:
        match = pattern.match(line, position)
        if match is None:
            is_open = line[position:].lstrip(BLANKS).startswith(b'"') and _is_open(line, position)
            return QuoteFault.OPEN if is_open else QuoteFault.STRAY
        enclosed, bare, end = match.groups()
        value = bare if enclosed is None else enclosed.replace(b'""', b'"')
        fields.append(value.strip(BLANKS))
        if not end:
            return fields
        position = match.end()


def is_plainly_quoted(line: bytes) -> bool:
    """Return whether taking the quotes off a line of CSV changes none of its fields."""
    return _PLAINLY_QUOTED.fullmatch(line) is not None


def _is_open(line: bytes, position: int) -> bool:
    return line.count(b'"', position) % 2 == 1


@cache
def _field(delimiter: bytes) -> re.Pattern[bytes]:
    mark = re.escape(delimiter)
    return re.compile(rb'[ \t]*+(?:"((?:[^"]|"")*+)"[ \t]*+|([^"' + mark + rb"]*+))(" + mark + rb"|\Z)")

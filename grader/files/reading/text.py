"""CSV text: encoding, byte order mark, line endings, and the fields of a line."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.problems import FileProblem, Note
from grader.files.reading.zeros import ZeroRun, tail_of

_BLOCK = 1 << 17
_LF, _CR, _CRLF = ord("\n"), ord("\r"), 256
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_OLD_MAC = Note(
    "old_mac_line_ends", "Lines end in CR only (classic Mac style); each CR was read as a line end."
)
BLANKS = b" \t"
_PLAINLY_QUOTED = re.compile(rb'(?:("?)[^",]*+\1(?:,|\Z))*+')


@dataclass(frozen=True, slots=True)
class Text:
    """The bytes of a CSV file that is not UTF-16; lines end in LF or CRLF.

    Attributes
    ----------
    data : bytes
    start, end : int
        Start of the text after a byte order mark, and end of its last visible byte.
    notes : tuple of Note
        Remarks on the line endings.
    has_doubled_returns : bool
        Whether lines of the file end in CR CR LF, a common mistake on Windows.
    zero_tail : ZeroRun or None
        The zero bytes at the end of the file; the text ends before the line on which they start.
    """

    data: bytes
    start: int
    end: int
    notes: tuple[Note, ...] = ()
    has_doubled_returns: bool = False
    zero_tail: ZeroRun | None = None


def wide_encoding(head: bytes) -> str | None:
    """Return the encoding of a file with two or four bytes per character, or None for other files."""
    for mark, name in _WIDE_MARKS:
        if head.startswith(mark):
            return name
    sample = head[:32]
    for zeros, letters in ((sample[1::2], sample[::2]), (sample[::2], sample[1::2])):
        if len(zeros) >= 2 and not any(zeros) and all(letters):
            return "UTF-16"
    return None


def not_utf8(encoding: str) -> FileProblem:
    """Return the problem for a file in a Unicode encoding other than UTF-8."""
    return FileProblem(
        "wrong_encoding",
        f"The file is encoded in {encoding}; expected UTF-8. In Excel, choose 'Save as: CSV UTF-8'.",
        expected="UTF-8",
        found=encoding,
    )


def first_invalid_byte(line: bytes) -> int | None:
    """Return the offset of the first byte that is not UTF-8, or None."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def with_plain_line_ends(data: bytes) -> Text:
    """Locate the text and replace lone carriage returns with line feeds."""
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    notes: tuple[Note, ...] = ()
    has_doubled_returns = False
    if b"\r" in data:
        has_doubled_returns = b"\r\r\n" in data
        kinds, first_odd_line = _line_ends(data)
        if _CR in kinds:
            data = _with_lone_returns_replaced(data)
        if kinds == {_CR}:
            notes = (_OLD_MAC,)
        elif first_odd_line is not None:
            notes = (_mixed(first_odd_line),)
    zero_tail = tail_of(data)
    end = _visible_end(data, len(data) if zero_tail is None else zero_tail.line_start)
    return Text(data, start, end, notes, has_doubled_returns, zero_tail)


def _mixed(line: int) -> Note:
    return Note(
        "mixed_line_ends",
        f"The file has mixed line endings from line {line:,}; all of them were read as line ends.",
        line=line,
    )


def _blocks(data: bytes) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.bool_]]]:
    """Yield the bytes in blocks, each with a mask of its lone carriage returns."""
    everything = np.frombuffer(data, np.uint8)
    for begin in range(0, len(data), _BLOCK):
        block = everything[begin : begin + _BLOCK]
        following = everything[begin + 1 : begin + _BLOCK + 1]
        lone = block == _CR
        lone[: len(following)] &= following != _LF
        yield block, lone


def _line_ends(data: bytes) -> tuple[set[int], int | None]:
    """Return the kinds of line endings (LF, CR, CRLF), and the first line that ends unlike line 1."""
    kinds: set[int] = set()
    first_odd_line = None
    lines, previous_is_return = 0, False
    for block, lone in _blocks(data):
        is_feed = block == _LF
        after_return = np.empty(len(block), bool)
        after_return[0] = previous_is_return
        after_return[1:] = block[:-1] == _CR
        previous_is_return = bool(block[-1] == _CR)
        ends = np.flatnonzero(is_feed | lone)
        kind = np.where(lone[ends], _CR, np.where(after_return[ends], _CRLF, _LF))
        if len(kind) and first_odd_line is None:
            first_kind = next(iter(kinds), int(kind[0]))
            odd = np.flatnonzero(kind != first_kind)
            first_odd_line = lines + int(odd[0]) + 1 if len(odd) else None
        kinds.update(kind_ for kind_ in (_LF, _CR, _CRLF) if (kind == kind_).any())
        lines += len(ends)
    return kinds, first_odd_line


def _with_lone_returns_replaced(data: bytes) -> bytes:
    """Replace lone returns block by block, to avoid several copies of a malicious file."""
    copy = BytesIO()
    for block, lone in _blocks(data):
        replaced = block.copy()
        replaced[lone] = _LF
        copy.write(replaced.tobytes())
    return copy.getvalue()


def _visible_end(data: bytes, end: int) -> int:
    """Return the offset after the last byte before `end` that is not a space, tab or line ending."""
    while end:
        begin = max(0, end - _BLOCK)
        visible = len(data[begin:end].rstrip(b" \t\r\n"))
        if visible:
            return begin + visible
        end = begin
    return 0


def line_at(text: Text, offset: int, most_bytes: int) -> tuple[bytes, int]:
    """Return the line at `offset`, truncated to `most_bytes`, and the offset of the next line."""
    end = text.data.find(b"\n", offset)
    end = len(text.data) if end < 0 else end
    line = text.data[offset : min(end, offset + most_bytes)]
    return line.removesuffix(b"\r"), min(end + 1, len(text.data))


def lines_of(text: Text, offset: int, most_bytes: int) -> Iterator[bytes]:
    """Yield the lines from `offset` to the visible end, without line endings.

    A line longer than `most_bytes` is truncated to one byte more than that.
    """
    stream = BytesIO(text.data)
    stream.seek(offset)
    while offset < text.end:
        line = stream.readline(most_bytes + 2)
        offset += len(line)
        if line.endswith(b"\n"):
            line = line[:-2] if line.endswith(b"\r\n") else line[:-1]
        elif offset < len(text.data):
            following = text.data.find(b"\n", offset)
            offset = len(text.data) if following < 0 else following + 1
            stream.seek(offset)
        yield line


class QuoteFault(Enum):
    """A fault in the quotes of a line."""

    STRAY = "a quote in the middle of a field"
    OPEN = "a quote that is opened and not closed on its line"


def split_fields(line: bytes, delimiter: bytes = b",", most: int = -1) -> list[bytes] | QuoteFault:
    """Split a line into fields without surrounding spaces, tabs and quotes.

    Quotes follow RFC 4180: they enclose a whole field and are doubled inside it. If `most` is given, the last
    field of an unquoted line contains everything after the first `most` fields.
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
    """Return whether the quotes of a CSV line can be removed without changing any field."""
    return _PLAINLY_QUOTED.fullmatch(line) is not None


def _is_open(line: bytes, position: int) -> bool:
    return line.count(b'"', position) % 2 == 1


@cache
def _field(delimiter: bytes) -> re.Pattern[bytes]:
    mark = re.escape(delimiter)
    return re.compile(rb'[ \t]*+(?:"((?:[^"]|"")*+)"[ \t]*+|([^"' + mark + rb"]*+))(" + mark + rb"|\Z)")

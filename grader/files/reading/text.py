"""CSV text: encoding, byte order mark, line endings, and the fields of a line."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from grader.files.reading.problems import FileProblem, Note

_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
BLANKS = b" \t"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_FIELD = re.compile(rb'[ \t]*+(?:"((?:[^"]|"")*+)"[ \t]*+|([^",]*+))(,|\Z)')
_VISIBLE_BYTES = 1 << 12


@dataclass(frozen=True, slots=True)
class Text:
    """The bytes of a CSV file that is not UTF-16; lines end in LF.

    Attributes
    ----------
    data : bytes
    start, end : int
        Start of the text after a byte order mark, and end of its last visible byte.
    notes : tuple of Note
        Remarks on the line endings.
    has_doubled_returns : bool
        Whether lines of the file end in CR CR LF, a common mistake on Windows.
    """

    data: bytes
    start: int
    end: int
    notes: tuple[Note, ...] = ()
    has_doubled_returns: bool = False


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
    message = f"The file is encoded in {encoding}; expected UTF-8. In Excel, choose 'Save as: CSV UTF-8'."
    return FileProblem("wrong_encoding", message, expected="UTF-8", found=encoding)


def first_invalid_byte(line: bytes) -> int | None:
    """Return the offset of the first byte that is not UTF-8, or None."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def with_plain_line_ends(data: bytes) -> Text:
    """Locate the text and replace all line endings with line feeds."""
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    notes: tuple[Note, ...] = ()
    has_doubled_returns = False
    if b"\r" in data:
        has_doubled_returns = b"\r\r\n" in data
        notes = _notes_on_line_ends(data)
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    # The whole file is only copied if it ends with many blanks.
    last = data[-_VISIBLE_BYTES:]
    if visible := last.rstrip(b" \t\n"):
        end = len(data) - len(last) + len(visible)
    else:
        end = len(data.rstrip(b" \t\n"))
    return Text(data, start, end, notes, has_doubled_returns)


def _notes_on_line_ends(data: bytes) -> tuple[Note, ...]:
    windows = data.count(b"\r\n")
    mac, unix = data.count(b"\r") - windows, data.count(b"\n") - windows
    if not windows and not unix:
        message = "Lines end in CR only (classic Mac style); each CR was read as a line end."
        return (Note("old_mac_line_ends", message),)
    if sum(map(bool, (windows, mac, unix))) == 1:
        return ()
    ends = enumerate(_LINE_END.finditer(data), start=1)
    _, first = next(ends)
    line = next(number for number, end in ends if end[0] != first[0])
    message = f"The file has mixed line endings from line {line:,}; all of them were read as line ends."
    return (Note("mixed_line_ends", message, line=line),)


def line_at(text: Text, offset: int, most_bytes: int) -> tuple[bytes, int]:
    """Return the line at `offset`, truncated to `most_bytes`, and the offset of the next line."""
    end = text.data.find(b"\n", offset)
    end = len(text.data) if end < 0 else end
    return text.data[offset : min(end, offset + most_bytes)], min(end + 1, len(text.data))


def lines_of(text: Text, offset: int, most_bytes: int) -> Iterator[bytes]:
    """Yield the lines from `offset` to the visible end, without line endings.

    A line longer than `most_bytes` is truncated to one byte more than that.
    """
    stream = BytesIO(text.data)
    stream.seek(offset)
    while offset < text.end:
        line = stream.readline(most_bytes + 1)
        offset += len(line)
        if not line.endswith(b"\n"):
            end = text.data.find(b"\n", offset)
            offset = len(text.data) if end < 0 else end + 1
            stream.seek(offset)
        yield line.removesuffix(b"\n")


def split_fields(line: bytes, most: int = -1) -> list[bytes] | None:
    """Split a line into fields without surrounding spaces, tabs and quotes.

    Quotes follow RFC 4180: they enclose a whole field and are doubled inside it. If `most` is given, the last
    field of an unquoted line contains everything after the first `most` fields.

    Returns
    -------
    list of bytes or None
        None if a quote is in the middle of a field or not closed on the line.
    """
    if b'"' not in line:
        return [field.strip(BLANKS) for field in line.split(b",", most)]
    fields, position = list[bytes](), 0
    while match := _FIELD.match(line, position):
        enclosed, bare, end = match.groups()
        value = bare if enclosed is None else enclosed.replace(b'""', b'"')
        fields.append(value.strip(BLANKS))
        if not end:
            return fields
        position = match.end()
    return None

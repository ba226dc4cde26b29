"""CSV text: encoding, line endings, lines above the header, and the fields of a line."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from grader.files.reading.problems import FileProblem, FileRejected, Findings
from grader.text import character

_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
BLANKS = b" \t"
INVISIBLE = re.compile("[\u00a0\u00ad\u2000-\u200f\u202f\u2060\u3000\ufeff]")
# An index written by pandas has one of the first two names, depending on whether the file was read back.
INDEX_NAMES = ("", "Unnamed: 0", "index")
_FIELD = re.compile(rb'[ \t]*+(?:"((?:[^"]|"")*+)"[ \t]*+|([^",]*+))(,|\Z)')
_SEPARATOR_LINE = re.compile(rb'"?sep=.?"?[ \t,;]*', re.IGNORECASE)
_SHOWN_BYTES = 20  # on each side of an invalid byte


@dataclass(frozen=True, slots=True)
class Text:
    """The bytes of a CSV file that is not UTF-16; lines end in LF.

    The text starts after a byte order mark, and ends after its last visible byte.
    """

    data: bytes
    start: int
    end: int


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


def require_utf8(head: bytes) -> None:
    """Raise FileRejected for a file in a Unicode encoding other than UTF-8."""
    if encoding := wide_encoding(head[:64]):
        raise FileRejected(FileProblem.of("wrong_encoding", encoding=encoding))


def invalid_utf8(line: bytes) -> bytes:
    """Return the surroundings of the first byte of a line that is not UTF-8, or nothing."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return line[max(0, error.start - _SHOWN_BYTES) : error.start + _SHOWN_BYTES]
    return b""


def text_of(data: bytes, header: str) -> Text:
    """Locate the text and replace all line endings with line feeds; raise FileRejected if there is no text.

    `header` describes the expected header.
    """
    require_utf8(data)
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    end = len(data.rstrip(b" \t\n"))
    if end <= start:
        fact = "contains only whitespace" if data else "is empty"
        raise FileRejected(FileProblem.of("empty_file", fact=fact, header=header))
    return Text(data, start, end)


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
    field of an unquoted line contains everything after the first `most` fields. The result is None if a quote
    is in the middle of a field or not closed on the line.
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


def is_above_header(line: bytes, number: int, findings: Findings, header: str) -> bool:
    """Report a line that cannot be the header: a blank one, a comment, or Excel's ``sep=,``."""
    code = None if line.strip(BLANKS) else "blank_line"
    if _SEPARATOR_LINE.fullmatch(line):
        code = "separator_line"
    elif line.startswith(b"#"):
        code = "comment_line"
    if code:
        findings.add(code, number, line, header=header)
    return code is not None


def invisible_in(value: str) -> str:
    """Return the code point of the first invisible character of a text, or nothing."""
    match = INVISIBLE.search(value)
    return character(match[0]) if match else ""

"""File readers of the second implementation: plain, gzip and ZIP submissions."""

import fnmatch
import io
import lzma
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib import resources
from itertools import repeat
from typing import IO, Any

from grader.errors import OrganizerError

SHOWN = 80
SIZE_CAP = 4_000_000_000
CHUNK = 1 << 20
# Decompressing a gzip file with millions of tiny members would take minutes. docs/participants.md states this
# limit.
MOST_TINY_MEMBERS, TINY = 100_000, 4096
_SMALL_READ = 1 << 10
_PADDING = re.compile(rb"\0+")
_ZERO_BLOCK = re.compile(rb"\0{16,}")
_ZEROS = bytes(16)
# Errors that the standard library raises for damaged archives. A corrupt ZIP directory can cause any of them.
_DAMAGED = (
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
_CHARACTERS = b"0123456789+-.eE"
_CHARACTER_SET = frozenset(_CHARACTERS.decode())
_LONGEST = 512
_BLANKS = " \t"
# The first implementation reads the same list of patterns.
_LITTER = resources.files("grader").joinpath("system_files.txt").read_text().casefold().splitlines()
_LARGEST_EXACT_INTEGER = 2**53
_SHORT_NUMBER = re.compile(r"([1-9])(?:\.([0-9]{0,15}[1-9]))?e\+?([0-9]{1,2})")


class UnreadableFile(OrganizerError):
    """A file has unexpected contents; the message states the problem and its location."""

    public_name = "unreadable_file"


def shown(text: str) -> str:
    """Quote a text for a message, truncated if it is long."""
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}…"


def text_of(data: bytes) -> str:
    """Return the text of a plain or compressed CSV file; raise UnreadableFile for any other file."""
    try:
        content = _uncompressed(data)
    except _DAMAGED as error:
        raise UnreadableFile(f"The compressed file is damaged ({error}).") from error
    if len(content) > SIZE_CAP:
        raise UnreadableFile(f"The uncompressed file is larger than {SIZE_CAP:,} bytes.")
    _refuse_zero_bytes(content)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"Byte {error.start + 1:,} of the file is not valid UTF-8.") from error


def _refuse_zero_bytes(content: bytes) -> None:
    """Raise UnreadableFile for blocks of zero bytes, which indicate a truncated copy."""
    # Searching for one fixed block takes only a fraction of the time that the expression needs.
    zeros = _ZERO_BLOCK.search(content) if _ZEROS in content else None
    if zeros:
        line = content.count(b"\n", 0, zeros.start()) + 1
        what = f"{len(zeros[0]):,} zero bytes (NUL)"
        where = f"ends in {what} starting on line {line:,}" if zeros.end() == len(content) else f"has {what}"
        where += "" if zeros.end() == len(content) else f" on line {line:,}"
        raise UnreadableFile(f"The file {where}. It was probably truncated during copying. Copy it again.")


def _uncompressed(data: bytes) -> bytes:
    if data.startswith(b"\x1f\x8b"):
        return _gunzipped(memoryview(data))
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if not _is_litter(name)]
            if len(names) != 1:
                raise UnreadableFile(f"The ZIP archive contains {len(names)} files; expected one CSV file.")
            with archive.open(names[0]) as stream:
                return _content(stream)
    return data


def _gunzipped(data: memoryview) -> bytes:
    """Decompress all gzip members, up to at most one chunk beyond the cap.

    Zero bytes after a member are ignored as padding. The `gzip` module is not used, because it takes seconds
    for many members or for a file name of several megabytes in the first member's header.
    """
    content, at, tiny = bytearray(), 0, 0
    while at < len(data) and len(content) <= SIZE_CAP:
        begun_with = len(content)
        at = _member(data, at, content)
        tiny += len(content) - begun_with < TINY
        if tiny > MOST_TINY_MEMBERS:
            raise UnreadableFile(
                f"The gzip file has more than {MOST_TINY_MEMBERS:,} members smaller than {TINY:,} bytes."
            )
        if padding := _PADDING.match(data, at):
            at = padding.end()
    return bytes(content)


def _member(data: memoryview, at: int, content: bytearray) -> int:
    """Append the decompressed member at offset `at` to `content` and return its end offset."""
    inflating = zlib.decompressobj(zlib.MAX_WBITS | 16)
    # Each step copies the unused input, so the first step must be small, because the members may be tiny.
    step = _SMALL_READ
    while not inflating.eof:
        piece = data[at : at + step]
        if not piece:
            raise EOFError("it ends too early")
        content += inflating.decompress(piece, CHUNK)
        at += len(piece) - len(inflating.unused_data or inflating.unconsumed_tail)
        if len(content) > SIZE_CAP:
            break
        step = min(4 * step, CHUNK)
    return at


def _content(stream: IO[bytes]) -> bytes:
    """Return the contents of a stream, stopping once the cap is exceeded.

    A single read of this size would allocate more memory than workers have.
    """
    content = bytearray()
    while len(content) <= SIZE_CAP and (piece := stream.read(CHUNK)):
        content += piece
    return bytes(content)


def _is_litter(name: str) -> bool:
    """Return whether an archive's entry is a folder, or a file that operating systems add."""
    parts = name.casefold().replace("\\", "/").split("/")
    return name.endswith("/") or any(fnmatch.filter(parts, pattern) for pattern in _LITTER)


def finite_number(text: str) -> float | None:
    """Parse a trimmed decimal number as float64; return None if it is invalid or not finite."""
    if len(text) > _LONGEST or not _CHARACTER_SET.issuperset(text):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


ONE_NUMBER = {"prediction": finite_number}


def read_predictions(data: bytes, row_ids: Collection[str]) -> dict[str, float]:
    """Return the prediction for each row id; raise UnreadableFile as `read_columns`."""
    return read_columns(data, row_ids, ONE_NUMBER)["prediction"]


def read_columns(
    data: bytes, row_ids: Collection[str], parsers: Mapping[str, Callable[[str], Any]]
) -> dict[str, dict[str, Any]]:
    """Return the values of columns by row id; raise UnreadableFile for the first error.

    The parser of a column returns None for a wrong value. Other columns are ignored, because the first
    implementation has already checked which columns are allowed. `row_ids` should support fast membership
    tests.
    """
    text = text_of(data).rstrip(" \t\r\n")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    header = _fields(lines[0], 1)
    if any(header.count(name) != 1 for name in ("id", *parsers)):
        expected = ",".join(["id", *parsers])
        raise UnreadableFile(f"Line 1 of the submission is {shown(lines[0])}; expected {expected}.")
    id_column = header.index("id")
    if '"' not in text and parsers == ONE_NUMBER:
        plain = _plain_predictions(lines[1:], len(header), id_column, header.index("prediction"))
        if plain.keys() == row_ids:
            return {"prediction": plain}
    columns = [(header.index(name), parse, dict[str, Any]()) for name, parse in parsers.items()]
    for number, fields in _rows(lines, len(header)):
        row_id = _known(fields[id_column], row_ids, number)
        for place, parse, values in columns:
            value = parse(fields[place])
            if value is None:
                what = "a finite number" if parse is finite_number else "a class"
                raise UnreadableFile(
                    f"Line {number:,} of the submission: {shown(fields[place])} is not {what}."
                )
            if row_id in values:
                raise UnreadableFile(f"Line {number:,} of the submission repeats the id {shown(row_id)}.")
            values[row_id] = value
    if missing := len(row_ids) - len(columns[0][2]):
        raise UnreadableFile(f"The submission is missing {missing:,} of {len(row_ids):,} ids.")
    return dict(zip(parsers, (values for _, _, values in columns), strict=True))


def _plain_predictions(
    lines: list[str], width: int, id_column: int, prediction_column: int
) -> dict[str, float]:
    """Read clean lines (no blanks, repeated ids or errors) in a few passes; return {} for any others."""
    if set(map(str.count, lines, repeat(","))) != {width - 1}:
        return {}
    fields = ",".join(lines).split(",")
    row_ids, texts = fields[id_column::width], fields[prediction_column::width]
    if "".join(texts).encode().translate(None, _CHARACTERS) or max(map(len, texts)) > _LONGEST:
        return {}
    try:
        predictions = dict(zip(row_ids, map(float, texts), strict=True))
    except ValueError:
        return {}
    is_valid = len(predictions) == len(lines) and all(map(math.isfinite, predictions.values()))
    return predictions if is_valid else {}


def _rows(lines: list[str], width: int) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines[1:], start=2):
        fields = _fields(line, number)
        if len(fields) != width:
            raise UnreadableFile(
                f"Line {number:,} of the submission has {len(fields)} fields; expected {width}."
            )
        yield number, fields


def _known(row_id: str, row_ids: Collection[str], number: int) -> str:
    if row_id in row_ids:
        return row_id
    whole, point, rest = row_id.partition(".")  # Spreadsheets may write 70 as 70.0, and R as 7e1.
    is_integral = point and not rest.strip("0") and whole.isascii() and whole.isdigit() and len(whole) <= 16
    if short := _SHORT_NUMBER.fullmatch(row_id):
        digits, exponent = short[1] + (short[2] or ""), int(short[3])
        whole, is_integral = digits.ljust(exponent + 1, "0"), exponent + 1 >= len(digits)
    if is_integral and int(whole) < _LARGEST_EXACT_INTEGER and whole in row_ids:
        return whole
    if row_id.isascii() and row_id.isdigit() and f"{row_id}.0" in row_ids:
        return f"{row_id}.0"
    raise UnreadableFile(f"Line {number:,} of the submission: the id {shown(row_id)} is not in the solution.")


def _fields(line: str, number: int) -> list[str]:
    """Split a CSV line, in which quotes enclose whole fields and are doubled inside them."""
    if '"' not in line:
        return [field.strip(_BLANKS) for field in line.split(",")]
    fields, rest = [], line
    while True:
        field, rest, ends = _next_field(rest, number)
        fields.append(field.strip(_BLANKS))
        if ends:
            return fields


def _next_field(text: str, number: int) -> tuple[str, str, bool]:
    """Return the first field, the text after its comma, and whether the field is the last one."""
    bare = text.lstrip(_BLANKS)
    if not bare.startswith('"'):
        field, comma, rest = text.partition(",")
        if '"' in field:
            raise UnreadableFile(f"Line {number:,} of the submission has a stray quote.")
        return field, rest, not comma
    at, pieces = 1, []
    while True:
        end = bare.find('"', at)
        if end < 0:
            raise UnreadableFile(f"Line {number:,} of the submission has an unclosed quote.")
        pieces.append(bare[at:end])
        if bare[end + 1 : end + 2] != '"':
            break
        pieces.append('"')
        at = end + 2
    rest = bare[end + 1 :].lstrip(_BLANKS)
    if rest and not rest.startswith(","):
        raise UnreadableFile(f"Line {number:,} of the submission has a stray quote.")
    return "".join(pieces), rest[1:], not rest

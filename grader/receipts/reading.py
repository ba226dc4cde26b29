"""Read plain, gzip or ZIP files and numbers, for the second implementation."""

import io
import lzma
import math
import re
import struct
import zipfile
import zlib
from typing import IO

from grader.errors import OrganizerError

SHOWN = 80
SIZE_CAP = 4_000_000_000
CHUNK = 1 << 20
# As docs/participants.md has it: a file made of next to nothing, again and again, would take minutes.
MOST_TINY_MEMBERS, TINY = 100_000, 4096
_SMALL_READ = 1 << 10
_PADDING = re.compile(rb"\0+")
_ZERO_BLOCK = re.compile(rb"\0{16,}")
# What the standard library raises at damaged archives: a directory that lies leads it anywhere.
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
_CHARACTERS = frozenset("0123456789+-.eE")
_LONGEST = 512


class UnreadableFile(OrganizerError):
    """A file does not hold what it should; the message says what, and where."""

    public_name = "unreadable_file"


def shown(text: str) -> str:
    """Return a text as a message shows it: quoted, and cut where it is long."""
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}…"


def text_of(data: bytes) -> str:
    """Return the text of a CSV, or of the one CSV inside; raise UnreadableFile."""
    try:
        content = _uncompressed(data)
    except _DAMAGED as error:
        raise UnreadableFile(f"The compressed file is damaged ({error}).") from error
    if len(content) > SIZE_CAP:
        raise UnreadableFile(f"The file is larger than {SIZE_CAP:,} bytes uncompressed.")
    _refuse_zero_bytes(content)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"Byte {error.start + 1:,} of the file is not UTF-8.") from error


def _refuse_zero_bytes(content: bytes) -> None:
    """Raise UnreadableFile where a copy was cut off: blocks that were never written are zero bytes."""
    found = _ZERO_BLOCK.search(content)
    if found:
        line = content.count(b"\n", 0, found.start()) + 1
        what = f"{len(found[0]):,} zero bytes (NUL)"
        where = f"ends in {what} from line {line:,} on" if found.end() == len(content) else f"has {what}"
        where += "" if found.end() == len(content) else f" on line {line:,}"
        raise UnreadableFile(f"The file {where}: a copy of it was probably cut off. Copy it again.")


def _uncompressed(data: bytes) -> bytes:
    if data.startswith(b"\x1f\x8b"):
        return _gunzipped(memoryview(data))
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if not _is_litter(name)]
            if len(names) != 1:
                raise UnreadableFile(f"The ZIP archive holds {len(names)} files; expected one CSV.")
            with archive.open(names[0]) as stream:
                return _content(stream)
    return data


def _gunzipped(data: memoryview) -> bytes:
    """Return what all members hold, up to a chunk more than the cap; zero bytes behind one are padding.

    Not by `gzip`, which takes seconds for many members, or for a name of megabytes in the first one's head.
    """
    content, at, tiny = bytearray(), 0, 0
    while at < len(data) and len(content) <= SIZE_CAP:
        begun_with = len(content)
        at = _member(data, at, content)
        tiny += len(content) - begun_with < TINY
        if tiny > MOST_TINY_MEMBERS:
            raise UnreadableFile(
                f"The gzip file has more than {MOST_TINY_MEMBERS:,} members of less than {TINY:,} bytes each."
            )
        if padding := _PADDING.match(data, at):
            at = padding.end()
    return bytes(content)


def _member(data: memoryview, at: int, content: bytearray) -> int:
    """Add what the member at `at` holds to `content`, and return where it ends."""
    inflating = zlib.decompressobj(zlib.MAX_WBITS | 16)
    step = _SMALL_READ  # what a member leaves of a step is copied: a small one must not leave much
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
    """Return what a stream holds, up to a byte more than the cap.

    A single read of so much would ask for all the memory at once, which workers do not have.
    """
    content = bytearray()
    while len(content) <= SIZE_CAP and (piece := stream.read(CHUNK)):
        content += piece
    return bytes(content)


def _is_litter(name: str) -> bool:
    return name.endswith(("/", ".DS_Store")) or name.startswith("__MACOSX/")


def finite_number(text: str) -> float | None:
    """Return the float64 of a trimmed decimal number; None if it is not finite."""
    if len(text) > _LONGEST or not _CHARACTERS.issuperset(text):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None

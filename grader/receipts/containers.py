"""A file as text, whether it is plain, gzip or a zip of one CSV."""

import gzip
import io
import lzma
import struct
import zipfile
import zlib
from typing import IO

from grader.receipts.unreadable import UnreadableFile

SIZE_CAP = 4_000_000_000
CHUNK = 1 << 20
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


def text_of(data: bytes) -> str:
    """Return the text of a CSV, or of the one CSV inside; raise UnreadableFile."""
    try:
        content = _uncompressed(data)
    except _DAMAGED as error:
        raise UnreadableFile(f"The compressed file is damaged ({error}).") from error
    if len(content) > SIZE_CAP:
        raise UnreadableFile(f"The file is larger than {SIZE_CAP:,} bytes uncompressed.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"Byte {error.start + 1:,} of the file is not UTF-8.") from error


def _uncompressed(data: bytes) -> bytes:
    if data.startswith(b"\x1f\x8b"):
        with gzip.open(io.BytesIO(data)) as stream:
            return _content(stream)
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if not _is_litter(name)]
            if len(names) != 1:
                raise UnreadableFile(f"The ZIP archive holds {len(names)} files; expected one CSV.")
            with archive.open(names[0]) as stream:
                return _content(stream)
    return data


def _content(stream: IO[bytes] | gzip.GzipFile) -> bytes:
    """Return what a stream holds, up to a byte more than the cap.

    A single read of so much would ask for all the memory at once, which workers do not have.
    """
    content = bytearray()
    while len(content) <= SIZE_CAP and (piece := stream.read(CHUNK)):
        content += piece
    return bytes(content)


def _is_litter(name: str) -> bool:
    return name.endswith(("/", ".DS_Store")) or name.startswith("__MACOSX/")

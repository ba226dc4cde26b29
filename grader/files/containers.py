"""The outermost layer of a file: plain, gzip or zip, opened as a stream with hard caps.

Every stream counts what it gives out and stops at the cap, so a bomb costs no more than an honest file.
"""

import io
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from grader.files import signatures
from grader.files.archives import ZIP_ERRORS, single_csv
from grader.files.problems import Note
from grader.files.unreadable import (
    Unreadable,
    bomb,
    damaged_gzip,
    damaged_zip,
    not_csv,
    too_large,
    truncated_gzip,
)

CHUNK_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"
_ZIP = b"PK"


@dataclass(frozen=True, slots=True)
class Content:
    """The CSV inside a file, whatever it came in.

    Attributes
    ----------
    notes : tuple of Note
        What is worth a remark about the container.
    open : callable
        Returns a new stream of the uncompressed bytes. Reading it raises `Unreadable` where the
        data are damaged or larger than the cap.
    """

    notes: tuple[Note, ...]
    open: Callable[[], BinaryIO]


def open_content(source: Path | bytes | BinaryIO, *, cap: int) -> Content:
    """Look through at most one layer of compression.

    Parameters
    ----------
    source : Path, bytes or binary stream
        The file as it arrived; a stream must be seekable.
    cap : int
        Largest size in bytes, as it arrived and uncompressed.

    Returns
    -------
    Content

    Raises
    ------
    Unreadable
        The file is no CSV and no gzip or zip of one CSV, or exceeds the cap.
    """
    with _raw(source) as raw:
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        head = raw.read(signatures.HEAD_BYTES)
        if size > cap:
            raise Unreadable(too_large(size, cap))
        if head.startswith(_GZIP):
            content = Content((_GZIP_NOTE,), lambda: _buffered(_Gunzip(_raw(source), cap)))
        elif head.startswith(_ZIP) and (found := signatures.identify(head)) is signatures.ZIP:
            name = single_csv(raw)
            content = Content((_ZIP_NOTE,), lambda: _buffered(_Unzip(_raw(source), name, cap)))
        else:
            content = Content((), lambda: _raw(source))
    with content.open() as stream:
        inner = stream.read(signatures.HEAD_BYTES)
    if found := signatures.identify(inner):
        raise Unreadable(not_csv(found, nested=bool(content.notes)))
    return content


_GZIP_NOTE = Note("gzip", "The file is gzip data and was uncompressed.")
_ZIP_NOTE = Note("zip", "The file is a ZIP archive; the one CSV inside it was read.")


def _raw(source: Path | bytes | BinaryIO) -> BinaryIO:
    if isinstance(source, Path):
        return source.open("rb")
    if isinstance(source, (bytes, bytearray)):
        return io.BytesIO(source)
    return _buffered(_Borrowed(source))


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return io.BufferedReader(raw, CHUNK_BYTES)


class _Borrowed(io.RawIOBase):
    """A caller's stream, read from its beginning and left open for the caller to close."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        stream.seek(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


class _Capped(io.RawIOBase):
    """Base of the uncompressing streams: hands out at most `cap` bytes, then refuses."""

    def __init__(self, raw: BinaryIO, cap: int) -> None:
        self._source = raw
        self._cap = cap
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._more(len(buffer))
        self._given += len(data)
        if self._given > self._cap:
            raise Unreadable(bomb(self._cap))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._source.close()
        super().close()

    def _more(self, most: int) -> bytes:
        """Return at least one and at most `most` uncompressed bytes; none at the end."""
        raise NotImplementedError


class _Gunzip(_Capped):
    """All members of a gzip file, with their checksums proven and damage located to the byte."""

    def __init__(self, raw: BinaryIO, cap: int) -> None:
        super().__init__(raw, cap)
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._pending = b""
        self._position = 0  # of the first byte of `_pending` in the file

    def _more(self, most: int) -> bytes:
        while True:
            if self._member.eof and not self._next_member():
                return b""
            if not self._pending:
                self._pending = self._source.read(CHUNK_BYTES)
            if not self._pending:
                raise Unreadable(truncated_gzip(self._position))
            if data := self._step(most):
                return data

    def _next_member(self) -> bool:
        """Move to the member that follows; trailing zero bytes are padding, as for gzip itself."""
        while rest := self._pending or self._source.read(CHUNK_BYTES):
            stripped = rest.lstrip(b"\0")
            self._position += len(rest) - len(stripped)
            self._pending = stripped
            if stripped:
                self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
                return True
        return False

    def _step(self, most: int) -> bytes:
        before = self._member.copy()
        try:
            data = self._member.decompress(self._pending, most)
        except zlib.error as error:
            offset = _first_bad_byte(before, self._pending)
            raise Unreadable(damaged_gzip(self._position + offset, str(error))) from error
        rest = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        self._position += len(self._pending) - len(rest)
        self._pending = rest
        return data


def _first_bad_byte(member: "zlib._Decompress", data: bytes) -> int:
    """Return the offset in `data` of the byte at which uncompressing fails."""
    for offset in range(len(data)):
        try:
            member.decompress(data[offset : offset + 1])
        except zlib.error:
            return offset
    return len(data)


class _Unzip(_Capped):
    """One entry of a ZIP archive, with its checksum proven."""

    def __init__(self, raw: BinaryIO, name: str, cap: int) -> None:
        super().__init__(raw, cap)
        try:
            self._archive = zipfile.ZipFile(raw)
            self._entry = self._archive.open(name)
        except ZIP_ERRORS as error:
            raise Unreadable(damaged_zip(str(error))) from error

    def _more(self, most: int) -> bytes:
        try:
            return self._entry.read(most)
        except ZIP_ERRORS as error:
            raise Unreadable(damaged_zip(str(error))) from error

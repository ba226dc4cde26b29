"""Open a plain, gzip or ZIP upload as a stream, with size caps against zip bombs.

Every stream counts what it gives out and stops at the cap, so a bomb costs no more than an honest file.
"""

import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from grader.files.reading import signatures, zeros
from grader.files.reading.archives import ZIP_ERRORS, single_csv
from grader.files.reading.gzip_members import GzipMembers
from grader.files.reading.problems import Note
from grader.files.reading.unreadable import Unreadable, bomb, damaged_zip, not_csv, too_large

CHUNK_BYTES = 1 << 16
_GZIP = b"\x1f\x8b"
_ZIP = b"PK"


@dataclass(frozen=True, slots=True)
class Content:
    """The CSV inside a plain, gzip or ZIP file.

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
            with _explaining(raw):
                name = single_csv(raw)
            content = Content((_ZIP_NOTE,), lambda: _buffered(_Unzip(_raw(source), name, cap)))
        else:
            content = Content((), lambda: _raw(source))
    with content.open() as stream:
        inner = stream.read(signatures.HEAD_BYTES)
    if found := signatures.identify(inner):
        raise Unreadable(not_csv(found, nested=bool(content.notes)))
    return content


@contextmanager
def _explaining(raw: BinaryIO) -> Iterator[None]:
    """Where the archive turns out to be damaged, say so if its file ends in zero bytes."""
    try:
        yield
    except Unreadable as error:
        raise Unreadable(zeros.explained(error.problem, raw)) from error


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
        with _explaining(self._source):
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
    """All members of a gzip file."""

    def __init__(self, raw: BinaryIO, cap: int) -> None:
        super().__init__(raw, cap)
        self._members = GzipMembers(raw)

    def _more(self, most: int) -> bytes:
        return self._members.more(most)


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

"""Plain, gzip and ZIP uploads as streams, with size limits against zip bombs.

Each stream counts the bytes that it returns and stops at the cap, so a zip bomb costs no more than a valid
file.
"""

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from grader.files.reading import unreadable, zeros
from grader.files.reading.problems import FileProblem, Note
from grader.files.reading.unreadable import (
    NotReadable,
    archive_problem,
    bomb,
    damaged_gzip,
    damaged_zip,
    not_csv,
    too_large,
    too_many_members,
    truncated_gzip,
)
from grader.text import is_system_file, listed, quoted

_LARGEST_ZIP_DIRECTORY = 1 << 20
_MOST_READ = _LARGEST_ZIP_DIRECTORY + 1
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    struct.error,
    UnicodeDecodeError,
)
# Tiny members only waste time: a file of 50 MB can contain 2.4 million empty members. The blocks of 64 KB
# that bgzip and parallel compressors write are far larger.
TINY_BYTES = 4096
MOST_TINY_MEMBERS = 100_000
# Pieces of the file are passed to a member's decompressor, which copies the unused rest of each piece. The
# pieces therefore start small, for small members, and grow for large ones.
_FIRST_PIECE = 512
_PIECE_GROWTH = 8
_PADDING = re.compile(rb"\0+")
CHUNK_BYTES = 1 << 16
# Up to this size, reading a file takes less time than importing pandas.
SMALL_BYTES = 1 << 18
_GZIP = b"\x1f\x8b"
_ZIP = b"PK"
_GZIP_NOTE = Note("gzip", "The file was decompressed with gzip.")
_ZIP_NOTE = Note("zip", "The file is a ZIP archive; the CSV file in it was read.")


def single_csv(raw: BinaryIO) -> str:
    """Return the name of an archive's only CSV; raise NotReadable unless there is exactly one."""
    try:
        entries = zipfile.ZipFile(_Bounded(raw)).infolist()
    except ZIP_ERRORS as error:
        raise NotReadable(damaged_zip(str(error))) from error
    if document := unreadable.workbook([entry.filename for entry in entries]):
        raise NotReadable(not_csv(document, nested=False))
    added = [entry for entry in entries if is_system_file(entry.filename) and not entry.is_dir()]
    entries = [entry for entry in entries if not entry.is_dir() and entry not in added]
    for entry in entries:
        _check_entry(entry)
    if len(entries) != 1:
        names = listed([quoted(entry.filename) for entry in entries or added])
        content = f"it contains {len(entries)} files: {names}" if entries else "it is empty"
        if added and not entries:
            content = f"it contains only {names}, which an operating system adds to folders and archives"
        raise NotReadable(
            archive_problem(f"the ZIP archive must contain exactly one CSV file, but {content}")
        )
    return entries[0].filename


class _Bounded:
    """An archive whose directory is read only if it is small.

    `zipfile` reads the whole directory at once and creates an object for each entry. The size stated in the
    archive can be forged, so the number of bytes read is limited instead.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.seek, self.tell = raw.seek, raw.tell

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; raise NotReadable if the directory exceeds its maximum size."""
        data = b"" if size > _LARGEST_ZIP_DIRECTORY else self._raw.read(size if size >= 0 else _MOST_READ)
        if size > _LARGEST_ZIP_DIRECTORY or len(data) == _MOST_READ:
            raise NotReadable(archive_problem("the ZIP archive has too many entries"))
        return data


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    parts = name.replace("\\", "/").split("/")
    is_symlink = stat.S_ISLNK(entry.external_attr >> 16)
    if ".." in parts or parts[0] == "" or ":" in parts[0] or is_symlink:
        why = "is a symbolic link" if is_symlink else "points outside the archive"
        raise NotReadable(archive_problem(f"the entry {quoted(name)} is not allowed because it {why}"))
    if entry.flag_bits & 0x1:
        raise NotReadable(
            FileProblem(
                "encrypted_archive",
                f"The archive is encrypted (entry {quoted(name)}). Upload it without a password.",
                expected="an archive without a password",
                found="an encrypted archive",
            )
        )
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NotReadable(
            archive_problem(
                f"the entry {quoted(name)} uses compression method {entry.compress_type}, "
                "which is not supported; expected 'deflate' or none"
            )
        )


class GzipMembers:
    """A reader of gzip members that verifies their checksums and finds the exact byte of any damage."""

    def __init__(self, raw: BinaryIO) -> None:
        self._source = raw
        self._buffer = memoryview(b"")
        self._position = 0  # file position of the first byte of `_buffer`
        self._tiny_count = 0
        self._begin()

    def more(self, most: int) -> bytes:
        """Return 1 to `most` decompressed bytes, or none at the end; raise NotReadable on damage."""
        while True:
            if self._member.eof and not self._next_member():
                return b""
            if not self._buffer:
                self._fill()
            if not self._buffer:
                raise NotReadable(truncated_gzip(self._position))
            if data := self._step(most):
                return data

    def _begin(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._piece = _FIRST_PIECE
        self._given = 0

    def _fill(self) -> None:
        self._buffer = memoryview(self._source.read(CHUNK_BYTES))

    def _take(self, count: int) -> None:
        self._position += count
        self._buffer = self._buffer[count:]

    def _next_member(self) -> bool:
        """Move to the next member; zero bytes between members are padding, as in gzip itself."""
        while True:
            if not self._buffer:
                self._fill()
            if not self._buffer:
                return False
            if self._buffer[0]:
                self._begin()
                return True
            self._take(_padding(self._buffer))

    def _step(self, most: int) -> bytes:
        piece = self._buffer[: self._piece]
        # A decompressor that has processed no data need not be copied, because it can be created again.
        is_first = self._piece == _FIRST_PIECE
        before = None if is_first else self._member.copy()
        try:
            data = self._member.decompress(piece, most)
        except zlib.error as error:
            before = before or zlib.decompressobj(zlib.MAX_WBITS | 16)
            offset = _first_bad_byte(before, piece)
            raise NotReadable(damaged_gzip(self._position + offset, str(error))) from error
        rest = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        self._take(len(piece) - len(rest))
        self._piece = min(self._piece * _PIECE_GROWTH, CHUNK_BYTES)
        self._given += len(data)
        if self._member.eof and self._given < TINY_BYTES:
            self._tiny_count += 1
            if self._tiny_count > MOST_TINY_MEMBERS:
                raise NotReadable(too_many_members(self._position, MOST_TINY_MEMBERS, TINY_BYTES))
        return data


def _padding(data: memoryview) -> int:
    """Count the leading zero bytes."""
    match = _PADDING.match(data)
    return match.end() if match else 0


def _first_bad_byte(member: "zlib._Decompress", data: memoryview) -> int:
    """Return the offset in `data` of the byte at which decompression fails."""
    for offset in range(len(data)):
        try:
            member.decompress(data[offset : offset + 1])
        except zlib.error:
            return offset
    return len(data)


@dataclass(frozen=True, slots=True)
class Content:
    """The CSV inside a plain, gzip or ZIP file.

    Attributes
    ----------
    notes : tuple of Note
        Remarks on the container.
    open : callable
        Returns a new stream of the decompressed bytes. Reading it raises `NotReadable` if the data is damaged
        or larger than the cap.
    """

    notes: tuple[Note, ...]
    open: Callable[[], BinaryIO]


def open_content(source: Path | bytes | BinaryIO, *, cap: int) -> Content:
    """Open a plain, gzip or ZIP file as CSV, with at most one layer of compression.

    Parameters
    ----------
    source : Path, bytes or binary stream
        The file as received. A stream must be seekable.
    cap : int
        Maximum size in bytes, as received and decompressed.

    Raises
    ------
    Unreadable
        The file is neither a CSV nor a gzip or ZIP file with one CSV, or it exceeds the cap.
    """
    with _raw(source) as raw:
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        head = raw.read(unreadable.HEAD_BYTES)
        if size > cap:
            raise NotReadable(too_large(size, cap))
        if head.startswith(_GZIP):
            content = Content((_GZIP_NOTE,), lambda: _buffered(_Gunzip(_raw(source), cap)))
        elif head.startswith(_ZIP) and (signature := unreadable.identify(head)) is unreadable.ZIP:
            with _explaining(raw):
                name = single_csv(raw)
            content = Content((_ZIP_NOTE,), lambda: _buffered(_Unzip(_raw(source), name, cap)))
        else:
            content = Content((), lambda: _raw(source))
    with content.open() as stream:
        inner = stream.read(unreadable.HEAD_BYTES)
    if signature := unreadable.identify(inner):
        raise NotReadable(not_csv(signature, nested=bool(content.notes)))
    return content


@contextmanager
def _explaining(raw: BinaryIO) -> Iterator[None]:
    """Extend the problem of a damaged archive if its file ends with zero bytes."""
    try:
        yield
    except NotReadable as error:
        raise NotReadable(zeros.explained(error.problem, raw)) from error


def _raw(source: Path | bytes | BinaryIO) -> BinaryIO:
    if isinstance(source, Path):
        return source.open("rb")
    if isinstance(source, (bytes, bytearray)):
        return io.BytesIO(source)
    return _buffered(_Borrowed(source))


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return io.BufferedReader(raw, CHUNK_BYTES)


class _Borrowed(io.RawIOBase):
    """A stream of the caller, read from its start and left open for the caller to close."""

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
    """Base class of decompressing streams; raises Unreadable after `cap` bytes."""

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
            raise NotReadable(bomb(self._cap))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._source.close()
        super().close()

    def _more(self, most: int) -> bytes:
        """Return 1 to `most` decompressed bytes, or none at the end."""
        raise NotImplementedError


class _Gunzip(_Capped):
    """A stream of all members of a gzip file."""

    def __init__(self, raw: BinaryIO, cap: int) -> None:
        super().__init__(raw, cap)
        self._members = GzipMembers(raw)

    def _more(self, most: int) -> bytes:
        return self._members.more(most)


class _Unzip(_Capped):
    """A stream of one entry of a ZIP archive, whose checksum is verified."""

    def __init__(self, raw: BinaryIO, name: str, cap: int) -> None:
        super().__init__(raw, cap)
        try:
            self._archive = zipfile.ZipFile(raw)
            self._entry = self._archive.open(name)
        except ZIP_ERRORS as error:
            raise NotReadable(damaged_zip(str(error))) from error

    def _more(self, most: int) -> bytes:
        try:
            return self._entry.read(most)
        except ZIP_ERRORS as error:
            raise NotReadable(damaged_zip(str(error))) from error

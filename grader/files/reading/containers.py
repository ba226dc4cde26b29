"""Plain, gzip and ZIP uploads as streams, with size limits against zip bombs.

Each stream counts the bytes that it returns and stops at the cap, so a zip bomb costs no more than a valid
file.
"""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from grader.files.reading import unreadable
from grader.files.reading.problems import Note
from grader.files.reading.unreadable import NotReadable, bad_archive, not_csv
from grader.text import is_system_file, listed, megabytes, quoted

_LARGEST_ZIP_DIRECTORY = 1 << 20
_ZIP_ERRORS = (
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
_TINY_BYTES = 4096
_MOST_TINY_MEMBERS = 100_000
# The rest of a piece behind a member is copied, so pieces are small.
_PIECE_BYTES = 1 << 12
CHUNK_BYTES = 1 << 16
# Up to this size, reading a file takes less time than importing pandas.
SMALL_BYTES = 1 << 18
_GZIP_NOTE = Note("gzip", "The file was decompressed with gzip.")
_ZIP_NOTE = Note("zip", "The file is a ZIP archive; the CSV file in it was read.")


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
    NotReadable
        The file is neither a CSV nor a gzip or ZIP file with one CSV, or it exceeds the cap.
    """
    with _raw(source) as raw:
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        signature = unreadable.identify(raw.read(unreadable.HEAD_BYTES))
        if size > cap:
            message = f"The file is {megabytes(size)}; the limit is {megabytes(cap)}."
            raise NotReadable("file_too_large", message, f"at most {megabytes(cap)}", megabytes(size))
        if signature is unreadable.GZIP:
            content = Content((_GZIP_NOTE,), lambda: _buffered(_Gunzip(_raw(source), cap)))
        elif signature is unreadable.ZIP:
            name = _single_csv(raw)
            content = Content((_ZIP_NOTE,), lambda: _buffered(_Unzip(_raw(source), name, cap)))
        else:
            content = Content((), lambda: _raw(source))
    with content.open() as stream:
        inner = unreadable.identify(stream.read(unreadable.HEAD_BYTES))
    if inner:
        raise not_csv(inner, nested=bool(content.notes))
    return content


def _raw(source: Path | bytes | BinaryIO) -> BinaryIO:
    if isinstance(source, Path):
        return source.open("rb")
    if isinstance(source, (bytes, bytearray)):
        return io.BytesIO(source)
    return _buffered(_Borrowed(source))


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return io.BufferedReader(raw, CHUNK_BYTES)


class _Stream(io.RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._more(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _more(self, most: int) -> bytes:
        """Return 1 to `most` bytes, or none at the end."""
        raise NotImplementedError


class _Borrowed(_Stream):
    """A stream of the caller, read from its start and left open for the caller to close."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        stream.seek(0)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def _more(self, most: int) -> bytes:
        return self._stream.read(most)


class _Capped(_Stream):
    """Base class of decompressing streams, which are refused after `cap` bytes."""

    def __init__(self, raw: BinaryIO, cap: int) -> None:
        self._source = raw
        self._cap = cap
        self._size = 0

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        count = super().readinto(buffer)
        self._size += count
        if self._size > self._cap:
            limit = megabytes(self._cap)
            message = f"The uncompressed size exceeds the limit of {limit}; decompression stopped there."
            raise NotReadable("uncompressed_too_large", message, f"at most {limit}", f"more than {limit}")
        return count

    def close(self) -> None:
        self._source.close()
        super().close()


class _Gunzip(_Capped):
    """A stream of all members of a gzip file, whose checksums are verified."""

    def __init__(self, raw: BinaryIO, cap: int) -> None:
        super().__init__(raw, cap)
        self._rest = b""
        self._tiny_members = 0
        self._begin()

    def _begin(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._member_bytes = 0

    def _more(self, most: int) -> bytes:
        while True:
            piece = self._rest or self._source.read(_PIECE_BYTES)
            if self._member.eof:
                if not piece:
                    return b""
                self._rest = piece = piece.lstrip(b"\0")  # padding between members, as in gzip itself
                if piece:
                    self._begin()
                continue
            if not piece:
                raise _damaged("gzip data", "truncated")
            try:
                data = self._member.decompress(piece, most)
            except zlib.error as error:
                raise _damaged("gzip data", str(error).split(": ")[-1]) from error
            self._rest = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            self._member_bytes += len(data)
            if self._member.eof and self._member_bytes < _TINY_BYTES:
                self._count_tiny_member()
            if data:
                return data

    def _count_tiny_member(self) -> None:
        self._tiny_members += 1
        if self._tiny_members > _MOST_TINY_MEMBERS:
            most = f"{_MOST_TINY_MEMBERS:,} members (separately compressed pieces)"
            message = (
                f"The gzip data has more than {most} of less than {_TINY_BYTES:,} bytes each. Compress the "
                "file as a whole."
            )
            raise NotReadable("too_many_members", message, f"at most {most}", "more members")


class _Unzip(_Capped):
    """A stream of one entry of a ZIP archive, whose checksum is verified."""

    def __init__(self, raw: BinaryIO, name: str, cap: int) -> None:
        super().__init__(raw, cap)
        try:
            self._archive = zipfile.ZipFile(raw)
            self._entry = self._archive.open(name)
        except _ZIP_ERRORS as error:
            raise _damaged("ZIP archive", str(error)) from error

    def _more(self, most: int) -> bytes:
        try:
            return self._entry.read(most)
        except _ZIP_ERRORS as error:
            raise _damaged("ZIP archive", str(error)) from error


def _damaged(container: str, reason: str) -> NotReadable:
    message = f"The {container} is damaged ({reason}). Compress and upload the file again."
    return NotReadable("damaged_archive", message, "a complete archive with matching checksums", reason)


class _SmallDirectory:
    """An archive whose directory is read only if it is small.

    `zipfile` reads the whole directory at once and creates an object for each entry. The size stated in the
    archive can be forged, so the number of bytes read is limited instead.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.seek, self.tell = raw.seek, raw.tell

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; raise NotReadable if the directory exceeds its maximum size."""
        most = _LARGEST_ZIP_DIRECTORY + 1
        data = self._raw.read(size if 0 <= size < most else most)
        if len(data) == most or size >= most:
            raise bad_archive("the ZIP archive has too many entries")
        return data


def _single_csv(raw: BinaryIO) -> str:
    """Return the name of an archive's only CSV; raise NotReadable unless there is exactly one."""
    try:
        entries = [e for e in zipfile.ZipFile(_SmallDirectory(raw)).infolist() if not e.is_dir()]
    except _ZIP_ERRORS as error:
        raise _damaged("ZIP archive", str(error)) from error
    if document := unreadable.document_of([entry.filename for entry in entries]):
        raise not_csv(document, nested=False)
    added = [entry for entry in entries if is_system_file(entry.filename)]
    entries = [entry for entry in entries if not is_system_file(entry.filename)]
    for entry in entries:
        _check_entry(entry)
    if len(entries) != 1:
        names = listed([quoted(entry.filename) for entry in entries or added])
        content = f"it contains {len(entries)} files: {names}" if entries else "it is empty"
        if added and not entries:
            content = f"it contains only {names}, which an operating system adds to folders and archives"
        raise bad_archive(f"the ZIP archive must contain exactly one CSV file, but {content}")
    return entries[0].filename


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    parts = name.replace("\\", "/").split("/")
    is_symlink = stat.S_ISLNK(entry.external_attr >> 16)
    if ".." in parts or parts[0] == "" or ":" in parts[0] or is_symlink:
        why = "is a symbolic link" if is_symlink else "points outside the archive"
        raise bad_archive(f"the entry {quoted(name)} is not allowed because it {why}")
    if entry.flag_bits & 0x1:
        message = f"The archive is encrypted (entry {quoted(name)}). Upload it without a password."
        raise NotReadable("encrypted_archive", message, "an archive without a password", "encrypted")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        method = f"compression method {entry.compress_type}"
        raise bad_archive(f"the entry {quoted(name)} uses {method}; expected 'deflate' or none")

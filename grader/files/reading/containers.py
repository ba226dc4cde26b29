"""Plain, gzip and ZIP uploads as streams, with size limits against zip bombs.

Each stream counts the bytes that it returns and stops at the cap, so a zip bomb costs no more than a valid
file.
"""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
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
    with _opened(source) as raw:
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        signature = unreadable.identify(raw.read(unreadable.HEAD_BYTES))
        if size > cap:
            message = f"The file is {megabytes(size)}; the limit is {megabytes(cap)}."
            raise NotReadable("file_too_large", message, f"at most {megabytes(cap)}", megabytes(size))
        if signature is unreadable.GZIP:
            content = Content((_GZIP_NOTE,), lambda: _stream(_gunzip(source), cap))
        elif signature is unreadable.ZIP:
            name = _single_csv(raw)
            content = Content((_ZIP_NOTE,), lambda: _stream(_unzip(source, name), cap))
        else:
            content = Content((), lambda: _plain(source, cap))
    with content.open() as stream:
        inner = unreadable.identify(stream.read(unreadable.HEAD_BYTES))
    if inner:
        raise not_csv(inner, nested=bool(content.notes))
    return content


def _opened(source: Path | bytes | BinaryIO) -> AbstractContextManager[BinaryIO]:
    """Open a source at its start; a stream of the caller stays open."""
    if isinstance(source, Path):
        return source.open("rb")
    if isinstance(source, (bytes, bytearray)):
        return io.BytesIO(source)
    source.seek(0)
    return nullcontext(source)


def _plain(source: Path | bytes | BinaryIO, cap: int) -> BinaryIO:
    opened = _opened(source)
    if isinstance(opened, io.IOBase):
        return opened
    with opened as raw:
        return _stream(_chunks(raw), cap)


def _chunks(raw: BinaryIO) -> Generator[bytes]:
    while data := raw.read(CHUNK_BYTES):
        yield data


def _stream(pieces: Generator[bytes], cap: int) -> BinaryIO:
    return io.BufferedReader(_Pieces(pieces, cap), CHUNK_BYTES)


class _Pieces(io.RawIOBase):
    """A stream of pieces, which is refused after `cap` bytes."""

    def __init__(self, pieces: Generator[bytes], cap: int) -> None:
        self._pieces = pieces
        self._cap = cap
        self._size = 0
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._rest or next(self._pieces, b"")
        count = min(len(data), len(buffer))
        buffer[:count], self._rest = data[:count], data[count:]
        self._size += count
        if self._size > self._cap:
            limit = megabytes(self._cap)
            message = f"The uncompressed size exceeds the limit of {limit}; decompression stopped there."
            raise NotReadable("uncompressed_too_large", message, f"at most {limit}", f"more than {limit}")
        return count

    def close(self) -> None:
        self._pieces.close()
        super().close()


def _gunzip(source: Path | bytes | BinaryIO) -> Generator[bytes]:
    """Yield the content of all members of a gzip file, and verify their checksums."""
    tiny_members, rest = 0, b""
    with _opened(source) as raw:
        while piece := rest or raw.read(_PIECE_BYTES):
            rest = piece.lstrip(b"\0")  # padding between members, as in gzip itself
            if not rest:
                continue
            member, size = zlib.decompressobj(zlib.MAX_WBITS | 16), 0
            while not member.eof:
                piece = rest or raw.read(_PIECE_BYTES)
                if not piece:
                    raise _damaged("gzip data", "truncated")
                try:
                    data = member.decompress(piece, CHUNK_BYTES)
                except zlib.error as error:
                    raise _damaged("gzip data", str(error).split(": ")[-1]) from error
                rest = member.unused_data if member.eof else member.unconsumed_tail
                size += len(data)
                if data:
                    yield data
            tiny_members += size < _TINY_BYTES
            if tiny_members > _MOST_TINY_MEMBERS:
                most = f"{_MOST_TINY_MEMBERS:,} members (separately compressed pieces)"
                message = f"The gzip data has more than {most} of less than {_TINY_BYTES:,} bytes each."
                message += " Compress the file as a whole."
                raise NotReadable("too_many_members", message, f"at most {most}", "more members")


def _unzip(source: Path | bytes | BinaryIO, name: str) -> Generator[bytes]:
    """Yield the content of an entry of a ZIP archive, and verify its checksum."""
    try:
        with _opened(source) as raw, zipfile.ZipFile(raw) as archive, archive.open(name) as entry:
            while data := entry.read(CHUNK_BYTES):
                yield data
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

"""Archives and compressed streams in data files, including nested ones."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

from grader.disclosure import table_formats, tables
from grader.disclosure.source import CHUNK_BYTES, Budget, CountedStream, GivenUp, NotReadNow, copy
from grader.disclosure.table_formats import delimited, parquet
from grader.disclosure.tables import Table
from grader.text import is_system_file

BEGINNING = 1 << 12
DEEPEST = 4
MOST_FILES = 200_000
KNOWN_KINDS = (
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"RIFF", "sound or an image"),
    (b"ID3", "sound"),
    (b"fLaC", "sound"),
    (b"OggS", "sound"),
    (b"%PDF", "a PDF document"),
    (b"\x28\xb5\x2f\xfd", "compressed by Zstandard"),
    (b"\x04\x22\x4d\x18", "compressed by LZ4"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "an Arrow (Feather) file"),
    (b"FEA1", "a Feather file"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\xd0\xcf\x11\xe0", "an old Office file"),
    (b"\x80\x04\x95", "a pickle"),
    (b"\x80\x05\x95", "a pickle"),
)
OFFICE = {"xl/": "an Excel workbook", "word/": "a Word document", "ppt/": "a presentation"}
COMPRESSED: tuple[tuple[bytes, Any], ...] = (
    (b"\x1f\x8b", lambda stream: gzip.GzipFile(fileobj=stream)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
)
# Exceptions that readers raise for damaged input. An incorrect archive directory can cause almost any error.
DAMAGED = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    lzma.LZMAError,
    struct.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
DAMAGED_OR_GIVEN_UP = (*DAMAGED, GivenUp)


@dataclass(frozen=True, slots=True)
class Unopened:
    """A part of a file that could not be checked; `name` is its path, which is empty for the whole file."""

    name: str
    reason: str


def unopened_by(name: str, error: Exception) -> Unopened:
    """Return a part that could not be checked; the reason is taken from an error."""
    if isinstance(error, GivenUp):
        return Unopened(name, str(error))
    if isinstance(error, MemoryError):
        return Unopened(name, "reading it takes too much memory")
    return Unopened(name, f"it is damaged ({type(error).__name__}: {str(error)[:200]})")


def opened(file: io.BufferedReader, budget: Budget) -> Iterator[Table | Unopened]:
    """Yield every table in a file, and every part that could not be opened.

    Each table must be read before the next one is requested. Reading it raises GivenUp or one of `DAMAGED`.
    NotReadNow, which does not depend on the file's content, is always passed on.
    """
    yield from _opened(file, "", budget, 0)


def _opened(stream: io.BufferedReader, name: str, budget: Budget, depth: int) -> Iterator[Table | Unopened]:
    try:
        yield from _layer(stream, name, budget, depth)
    except DAMAGED_OR_GIVEN_UP as error:
        yield unopened_by(name, error)


def _layer(stream: io.BufferedReader, name: str, budget: Budget, depth: int) -> Iterator[Table | Unopened]:
    beginning = stream.peek(BEGINNING)[:BEGINNING]
    if not beginning:
        return
    if depth > DEEPEST:
        raise GivenUp("archives are nested too deeply")
    for magic, unpacked in COMPRESSED:
        if beginning.startswith(magic):
            with unpacked(stream) as inner:
                yield from _opened(_counted(inner, budget), name, budget, depth + 1)
            return
    if beginning.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        with _seekable(stream) as whole:
            yield from _zip(whole, name, budget, depth)
    elif beginning[257:262] == b"ustar":
        yield from _tar(stream, name, budget, depth)
    elif beginning.startswith(b"PAR1"):
        with _on_disk(stream) as path:
            yield Table(name, parquet(path, budget))
    else:
        yield from _text(stream, beginning, name, is_counted=depth > 0, budget=budget)


def _text(
    stream: io.BufferedReader, beginning: bytes, name: str, *, is_counted: bool, budget: Budget
) -> Iterator[Table | Unopened]:
    encoding = _encoding(beginning)
    if encoding is None:
        kinds = (kind for magic, kind in KNOWN_KINDS if beginning.startswith(magic))
        raise GivenUp(f"it is {next(kinds, 'not text')}")
    counted = stream if is_counted else _counted(stream, budget)
    text = tables.as_text(io.BufferedReader(_Raw(counted), CHUNK_BYTES), encoding)
    shown = beginning.decode(encoding, "replace").lstrip("\ufeff \t\r\n")
    if not shown.startswith(("{", "[")):
        yield Table(name, delimited(text))
    elif table_formats.is_json_lines(_first_lines(shown, stream)):
        yield Table(name, table_formats.json_lines(text))
    else:
        yield from table_formats.json_tables(name, table_formats.document_of(text))


def _first_lines(shown: str, stream: io.BufferedReader) -> str:
    """Return the start of a text, which includes the complete first line unless that line is too long."""
    if "\n" in shown:
        return shown
    return stream.peek(CHUNK_BYTES)[:CHUNK_BYTES].decode("utf-8-sig", "replace").lstrip()


def _encoding(beginning: bytes) -> str | None:
    """Return the encoding of the text, or None if the data is not text."""
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in beginning or any(beginning.startswith(magic) for magic, _ in KNOWN_KINDS):
        return None
    return "utf-8-sig"


def _zip(stream: IO[bytes], name: str, budget: Budget, depth: int) -> Iterator[Table | Unopened]:
    with zipfile.ZipFile(stream) as archive:
        entries = [
            entry for entry in archive.infolist() if not entry.is_dir() and not is_system_file(entry.filename)
        ]
        names = [entry.filename for entry in entries]
        for folder, kind in OFFICE.items():
            if "[Content_Types].xml" in names and any(each.startswith(folder) for each in names):
                raise GivenUp(f"it is {kind}")
        if len(entries) > MOST_FILES:
            raise GivenUp(f"it contains {len(entries):,} files")
        times = [int("{:04}{:02}{:02}{:02}{:02}{:02}".format(*entry.date_time)) for entry in entries]
        yield tables.members_as_table(
            [(e.filename, e.file_size, time, e.header_offset) for e, time in zip(entries, times, strict=True)]
        )
        for entry in entries:
            place = _below(name, entry.filename)
            if entry.flag_bits & 1:
                yield Unopened(place, "it is password-protected")
                continue
            with archive.open(entry) as inner:
                yield from _opened(_counted(inner, budget), place, budget, depth + 1)


def _tar(stream: IO[bytes], name: str, budget: Budget, depth: int) -> Iterator[Table | Unopened]:
    members = []
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            inner = archive.extractfile(member) if member.isfile() else None
            if inner is not None and not is_system_file(member.name):
                members.append((member.name, member.size, member.mtime, member.offset))
                if len(members) > MOST_FILES:
                    raise GivenUp(f"it contains more than {MOST_FILES:,} files")
                yield from _opened(_counted(inner, budget), _below(name, member.name), budget, depth + 1)
    yield tables.members_as_table(members)


def _below(name: str, inner: str) -> str:
    return f"{name}/{inner}" if name else inner


def _counted(stream: IO[bytes], budget: Budget) -> io.BufferedReader:
    return io.BufferedReader(CountedStream(stream, budget), CHUNK_BYTES)


class _Raw(io.RawIOBase):
    """A stream that does not close its source."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._stream.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def _seekable(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield the stream if it is seekable, or else a temporary copy."""
    if stream.seekable():
        yield stream
        return
    with _temporary(tempfile.TemporaryFile) as copied:
        copy(stream, copied)
        copied.seek(0)
        yield copied


@contextmanager
def _on_disk(stream: IO[bytes]) -> Iterator[str]:
    """Yield the path of a temporary copy of a stream."""
    with _temporary(tempfile.NamedTemporaryFile) as copied:
        copy(stream, copied)
        yield copied.name


@contextmanager
def _temporary(make: Callable[[], Any]) -> Iterator[Any]:
    try:
        file = make()
    except OSError as error:
        raise NotReadNow(str(error)) from error
    try:
        yield file
    finally:
        with suppress(OSError):  # closing writes again, which fails if the disk is full
            file.close()

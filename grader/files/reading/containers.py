"""Plain, gzip and ZIP uploads as streams, with size limits against zip bombs; types of other files.

Each stream counts the bytes that it returns and stops at the cap, so a zip bomb costs no more than a valid
file.
"""

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any, BinaryIO

from grader.files.reading.problems import FileProblem, FileRejected
from grader.text import is_system_file, listed, megabytes, quoted

HEAD_BYTES = 4096
_LARGEST_ZIP_DIRECTORY = 1 << 20
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    IndexError,
    RuntimeError,
    OSError,
    ValueError,
    struct.error,
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
Source = Path | bytes | BinaryIO
GZIP, ZIP, OTHER_ARCHIVE = "gzip data", "a ZIP archive", "an archive other than gzip and ZIP"
_EXPORT = "Open it and export it as CSV UTF-8."
_FROM_PANDAS = "Write it with to_csv(index=False)."
_ADVICE = "Export the table as CSV."
# The first bytes of files other than CSV, what they are, and how to get a CSV.
_SIGNATURES = (
    (rb"\x1f\x8b", GZIP, _ADVICE),
    (rb"PK(?:\x03\x04|\x05\x06|\x07\x08)", ZIP, _ADVICE),
    (rb"\xd0\xcf\x11\xe0", "an Excel workbook (.xls)", _EXPORT),
    (
        rb"\x00\x05\x16\x07",
        "an AppleDouble file, which macOS adds",
        "Choose the file without '._' in its name.",
    ),
    (rb"PAR1", "Parquet", _FROM_PANDAS),
    (rb"ARROW1|FEA1", "a Feather file", _FROM_PANDAS),
    (rb"\x93NUMPY", "a NumPy array (.npy)", _FROM_PANDAS),
    (rb"\x80[\x02-\x05]", "a Python pickle", _FROM_PANDAS),
    (rb"\x89HDF\r\n", "an HDF5 file", _FROM_PANDAS),
    (rb"SQLite format 3\0", "an SQLite database", _ADVICE),
    (rb"%PDF|\{\\rtf", "a document", _ADVICE),
    (rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a", "an image", _ADVICE),
    (
        rb"BZh|\xfd7zXZ\0|\x28\xb5\x2f\xfd|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|(?s:.{257})ustar",
        OTHER_ARCHIVE,
        "Use gzip, zip or no compression.",
    ),
    (
        rb"version https://git-lfs",
        "a Git LFS pointer, not the data",
        "Run `git lfs pull` and upload the file itself.",
    ),
    (
        rb"(?i:\s*<(?:!doctype\s+html|html|head|body|table)\b)",
        "an HTML page",
        "A login or error page was probably saved instead of the data.",
    ),
    (rb"\s*<\?xml", "an XML document", _ADVICE),
    (rb"\s*[\[{]", "JSON", _ADVICE),
)
_PATTERNS = tuple((re.compile(pattern), (kind, advice)) for pattern, kind, advice in _SIGNATURES)


def open_content(source: Source, *, cap: int) -> BinaryIO:
    """Return a new stream of the CSV in a plain, gzip or ZIP file, with at most one layer of compression.

    `cap` is the maximum size in bytes, as received and decompressed; a stream must be seekable. Raise
    FileRejected if the file exceeds it, or is neither a CSV nor a gzip or ZIP file with one CSV. Reading the
    result raises FileRejected if the data is damaged or larger than the cap.
    """
    with _opened(source) as raw:
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        kind, advice = identify(raw.read(HEAD_BYTES))
        if size > cap:
            raise _rejected("file_too_large", size=megabytes(size), limit=megabytes(cap))
        name = _single_csv(raw) if kind == ZIP else ""

    def content() -> BinaryIO:
        pieces = _gunzip(source) if kind == GZIP else _unzip(source, name) if kind == ZIP else _plain(source)
        return io.BufferedReader(_Pieces(pieces, cap), CHUNK_BYTES)

    if kind in (GZIP, ZIP):
        with content() as stream:
            kind_inside, advice = identify(stream.read(HEAD_BYTES))
        if kind_inside in (GZIP, ZIP, OTHER_ARCHIVE):
            raise _rejected("nested_archive", kind=kind_inside)
    else:
        kind_inside = kind
    if kind_inside:
        raise _rejected("not_csv", kind=kind_inside, advice=advice)
    return content() if kind or not isinstance(source, bytes) else io.BytesIO(source)


def identify(head: bytes) -> tuple[str, str]:
    """Return the type of a file with these first bytes, and advice; empty if it may be CSV."""
    return next((kind_and_advice for pattern, kind_and_advice in _PATTERNS if pattern.match(head)), ("", ""))


def _rejected(code: str, content: str | None = None, **words: Any) -> FileRejected:
    return FileRejected(FileProblem.of(code, content, **words))


def _opened(source: Source) -> AbstractContextManager[BinaryIO]:
    """Open a source at its start; a stream of the caller stays open."""
    if isinstance(source, Path):
        return source.open("rb")
    if isinstance(source, (bytes, bytearray)):
        return io.BytesIO(source)
    source.seek(0)
    return nullcontext(source)


def _chunks(raw: IO[bytes]) -> Generator[bytes]:
    while data := raw.read(CHUNK_BYTES):
        yield data


def _plain(source: Source) -> Generator[bytes]:
    with _opened(source) as raw:
        yield from _chunks(raw)


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
            raise _rejected("uncompressed_too_large", limit=megabytes(self._cap))
        return count

    def close(self) -> None:
        self._pieces.close()
        super().close()


def _gunzip(source: Source) -> Generator[bytes]:
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
                most = f"{_MOST_TINY_MEMBERS:,}"
                raise _rejected("too_many_members", most=most, size=megabytes(_TINY_BYTES))


def _unzip(source: Source, name: str) -> Generator[bytes]:
    """Yield the content of an entry of a ZIP archive, and verify its checksum."""
    try:
        with _opened(source) as raw, zipfile.ZipFile(raw) as archive, archive.open(name) as entry:
            yield from _chunks(entry)
    except ZIP_ERRORS as error:
        raise _damaged("ZIP archive", str(error)) from error


def _damaged(container: str, reason: str) -> FileRejected:
    return _rejected("damaged_archive", container=container, reason=reason)


class _SmallDirectory:
    """An archive whose directory is read only if it is small.

    `zipfile` reads the whole directory at once and creates an object for each entry. The size stated in the
    archive can be forged, so the number of bytes read is limited instead.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.seek, self.tell = raw.seek, raw.tell

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; raise FileRejected if the directory exceeds its maximum size."""
        most = _LARGEST_ZIP_DIRECTORY + 1
        data = self._raw.read(size if 0 <= size < most else most)
        if len(data) == most or size >= most:
            raise _rejected("bad_archive", reason="it has too many entries")
        return data


def _single_csv(raw: BinaryIO) -> str:
    """Return the name of an archive's only CSV; raise FileRejected unless there is exactly one."""
    try:
        entries = [e for e in zipfile.ZipFile(_SmallDirectory(raw)).infolist() if not e.is_dir()]
    except ZIP_ERRORS as error:
        raise _damaged("ZIP archive", str(error)) from error
    if any(entry.filename == "[Content_Types].xml" for entry in entries):
        raise _rejected("not_csv", kind="an Excel workbook (ZIP with [Content_Types].xml)", advice=_EXPORT)
    entries = [entry for entry in entries if not is_system_file(entry.filename)]
    for entry in entries:
        _check_entry(entry)
    if len(entries) != 1:
        names = listed([quoted(entry.filename) for entry in entries])
        raise _rejected("bad_archive", reason=f"it contains {len(entries)} files: {names or 'none'}")
    return entries[0].filename


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = quoted(entry.filename)
    parts = entry.filename.replace("\\", "/").split("/")
    is_symlink = stat.S_ISLNK(entry.external_attr >> 16)
    if ".." in parts or parts[0] == "" or ":" in parts[0] or is_symlink:
        raise _rejected("bad_archive", reason=f"the entry {name} is a link or points outside the archive")
    if entry.flag_bits & 0x1:
        raise _rejected("encrypted_archive", entry.filename)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        method = entry.compress_type
        raise _rejected("bad_archive", reason=f"the entry {name} uses the compression method {method}")

"""The outermost layer of a file: plain, gzip or zip, opened as a stream with hard caps.

Every stream counts what it gives out and stops at the cap, so a bomb costs no more than an honest file.
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

from grader.files import signatures
from grader.files.problems import Note, Problem
from grader.files.wording import listed, megabytes, quoted

CHUNK_BYTES = 1 << 16
_LARGEST_ZIP_DIRECTORY = 1 << 20
_GZIP = b"\x1f\x8b"
_ZIP = b"PK"


class Unreadable(Exception):
    """The container cannot be opened or read on; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


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
            raise Unreadable(_too_large(size, cap))
        if head.startswith(_GZIP):
            content = Content((_GZIP_NOTE,), lambda: _buffered(_Gunzip(_raw(source), cap)))
        elif head.startswith(_ZIP) and (found := signatures.identify(head)) is signatures.ZIP:
            name = _single_csv(raw)
            content = Content((_ZIP_NOTE,), lambda: _buffered(_Unzip(_raw(source), name, cap)))
        else:
            content = Content((), lambda: _raw(source))
    with content.open() as stream:
        inner = stream.read(signatures.HEAD_BYTES)
    if found := signatures.identify(inner):
        raise Unreadable(_not_csv(found, nested=bool(content.notes)))
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
            raise Unreadable(_bomb(self._cap))
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
                raise Unreadable(_truncated_gzip(self._position))
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
            raise Unreadable(_damaged_gzip(self._position + offset, str(error))) from error
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
        except _ZIP_ERRORS as error:
            raise Unreadable(_damaged_zip(str(error))) from error

    def _more(self, most: int) -> bytes:
        try:
            return self._entry.read(most)
        except _ZIP_ERRORS as error:
            raise Unreadable(_damaged_zip(str(error))) from error


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


def _single_csv(raw: BinaryIO) -> str:
    """Return the name of the one CSV in an archive, or say what stands in the way."""
    if _directory_size(raw) > _LARGEST_ZIP_DIRECTORY:
        raise Unreadable(_archive_problem("the ZIP archive lists far too many entries"))
    raw.seek(0)
    try:
        entries = zipfile.ZipFile(raw).infolist()
    except _ZIP_ERRORS as error:
        raise Unreadable(_damaged_zip(str(error))) from error
    if document := signatures.workbook([entry.filename for entry in entries]):
        raise Unreadable(_not_csv(document, nested=False))
    entries = [entry for entry in entries if not _is_litter(entry)]
    for entry in entries:
        _check_entry(entry)
    if len(entries) != 1:
        names = listed([quoted(entry.filename) for entry in entries])
        found = f"it holds {len(entries)} files: {names}" if entries else "it is empty"
        raise Unreadable(_archive_problem(f"the ZIP archive must hold one CSV, but {found}"))
    return entries[0].filename


def _directory_size(raw: BinaryIO) -> int:
    """Return the size of the central directory as the archive states it (ZIP and ZIP64).

    `zipfile` reads the whole directory into objects, so its size is bounded first.
    """
    size = raw.seek(0, io.SEEK_END)
    raw.seek(max(0, size - (1 << 16) - 200))
    tail = raw.read()
    stated = [0]
    for magic, layout, offset in ((b"PK\x05\x06", "<L", 12), (b"PK\x06\x06", "<Q", 40)):
        at = tail.rfind(magic)
        if at >= 0 and at + offset + struct.calcsize(layout) <= len(tail):
            stated.append(struct.unpack_from(layout, tail, at + offset)[0])
    return max(value for value in stated if value != 0xFFFFFFFF)


def _is_litter(entry: zipfile.ZipInfo) -> bool:
    name = entry.filename
    return entry.is_dir() or name.startswith("__MACOSX/") or name.split("/")[-1] == ".DS_Store"


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    parts = name.replace("\\", "/").split("/")
    is_symlink = stat.S_ISLNK(entry.external_attr >> 16)
    if ".." in parts or parts[0] == "" or ":" in parts[0] or is_symlink:
        why = "is a symbolic link" if is_symlink else "points outside the archive"
        raise Unreadable(_archive_problem(f"the entry name {quoted(name)} is not allowed: it {why}"))
    if entry.flag_bits & 0x1:
        raise Unreadable(
            Problem(
                "encrypted_archive",
                f"The archive is encrypted (entry {quoted(name)}); send it without a password.",
                expected="an archive without a password",
                found="an encrypted archive",
            )
        )
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Unreadable(
            _archive_problem(
                f"the entry {quoted(name)} uses compression method {entry.compress_type}, "
                "which is not supported; expected 'deflate' or none"
            )
        )


def _archive_problem(sentence: str) -> Problem:
    return Problem(
        "bad_archive",
        f"This archive cannot be used: {sentence}.",
        expected="a ZIP archive of one CSV",
        found=sentence,
    )


def _not_csv(found: signatures.Signature, *, nested: bool) -> Problem:
    if nested and signatures.is_archive(found):
        return Problem(
            "nested_archive",
            f"This is a nested archive: inside the compressed file lies {found.kind}. "
            "Expected one CSV, compressed once or not at all.",
            expected="one CSV",
            found=found.kind,
        )
    place = "Inside the compressed file lies" if nested else "This is"
    message = f"{place} {found.kind}; expected CSV. {found.advice}"
    return Problem("not_csv", message, expected="CSV", found=found.kind)


def _too_large(size: int, cap: int) -> Problem:
    return Problem(
        "file_too_large",
        f"The file is {megabytes(size)}; the limit is {megabytes(cap)}.",
        expected=f"at most {megabytes(cap)}",
        found=megabytes(size),
    )


def _bomb(cap: int) -> Problem:
    return Problem(
        "uncompressed_too_large",
        f"The uncompressed size exceeds {megabytes(cap)} (uncompressing stopped at {megabytes(cap)} + 1).",
        expected=f"at most {megabytes(cap)}",
        found=f"more than {megabytes(cap)}",
    )


def _damaged_gzip(position: int, reason: str) -> Problem:
    detail = reason.split(": ")[-1]
    return Problem(
        "damaged_archive",
        f"The gzip data is damaged at byte {position:,} ({detail}). Compress and send it again.",
        expected="gzip data whose checksum fits",
        found=detail,
    )


def _truncated_gzip(position: int) -> Problem:
    return Problem(
        "damaged_archive",
        f"The gzip data is damaged at byte {position:,}: it ends too early. Send the file again.",
        expected="a complete gzip file",
        found="a truncated one",
    )


def _damaged_zip(reason: str) -> Problem:
    if reason == "File is not a zip file":
        reason = "its directory is missing: does the file end too early?"
    return Problem(
        "damaged_archive",
        f"The ZIP archive is damaged ({reason}). Compress and send it again.",
        expected="a readable ZIP archive",
        found=reason,
    )

"""ZIP uploads: find the one CSV inside, refuse anything else."""

import stat
import struct
import zipfile
import zlib
from typing import BinaryIO

from grader.files.reading import signatures
from grader.files.reading.problems import Problem
from grader.files.reading.unreadable import Unreadable, archive_problem, damaged_zip, not_csv
from grader.text.wording import listed, quoted

_LARGEST_ZIP_DIRECTORY = 1 << 20
_MOST_READ = _LARGEST_ZIP_DIRECTORY + 1
_LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")
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


def single_csv(raw: BinaryIO) -> str:
    """Return the name of the one CSV in an archive, or the problem if there is not exactly one."""
    try:
        entries = zipfile.ZipFile(_Bounded(raw)).infolist()
    except ZIP_ERRORS as error:
        raise Unreadable(damaged_zip(str(error))) from error
    if document := signatures.workbook([entry.filename for entry in entries]):
        raise Unreadable(not_csv(document, nested=False))
    entries = [entry for entry in entries if not _is_litter(entry)]
    for entry in entries:
        _check_entry(entry)
    if len(entries) != 1:
        names = listed([quoted(entry.filename) for entry in entries])
        found = f"it holds {len(entries)} files: {names}" if entries else "it is empty"
        raise Unreadable(archive_problem(f"the ZIP archive must hold one CSV, but {found}"))
    return entries[0].filename


class _Bounded:
    """An archive whose directory is read only where it is small.

    `zipfile` reads the whole directory at once and makes an object of each entry. What the archive states of
    the directory's size can be made to lie; what is read cannot.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.seek, self.tell = raw.seek, raw.tell

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; raise Unreadable where they are more than a directory may have."""
        data = b"" if size > _LARGEST_ZIP_DIRECTORY else self._raw.read(size if size >= 0 else _MOST_READ)
        if size > _LARGEST_ZIP_DIRECTORY or len(data) == _MOST_READ:
            raise Unreadable(archive_problem("the ZIP archive lists far too many entries"))
        return data


def _is_litter(entry: zipfile.ZipInfo) -> bool:
    name = entry.filename
    return name.endswith("/") or name.startswith("__MACOSX/") or name.split("/")[-1] in _LITTER


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.filename
    parts = name.replace("\\", "/").split("/")
    is_symlink = stat.S_ISLNK(entry.external_attr >> 16)
    if ".." in parts or parts[0] == "" or ":" in parts[0] or is_symlink:
        why = "is a symbolic link" if is_symlink else "points outside the archive"
        raise Unreadable(archive_problem(f"the entry name {quoted(name)} is not allowed: it {why}"))
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
            archive_problem(
                f"the entry {quoted(name)} uses compression method {entry.compress_type}, "
                "which is not supported; expected 'deflate' or none"
            )
        )

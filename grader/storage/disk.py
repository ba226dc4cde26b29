"""Local disks: free space, disk-full errors, fsync."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from grader.errors import ErrorKind, ParticipantError
from grader.settings import PREFIX, Settings

SMALLEST_RESERVE_MB = 1  # without any space, no process could start
FULL = "A disk is full. Run `fairboard doctor` to see which files you can delete."
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# SQLITE_IOERR_SHMSIZE means that the shared-memory file could not grow.
_SQLITE_FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
_POSTGRESQL_FULL = "53100"


class NoSpace(ParticipantError):
    """The disk has too little space for a file."""

    public_name = "no_space"
    kind = ErrorKind.NO_ROOM
    message = (
        "The server has no disk space left, so nothing was changed or submitted. Try again later or contact "
        "the operators."
    )


def folders(settings: Settings) -> tuple[Path, ...]:
    """Return the local folders in which an installation stores data."""
    url = urlsplit(settings.storage())
    blobs = (Path(unquote(url.path)),) if url.scheme == "file" else ()
    return (settings.data_dir.absolute(), *blobs)


def usage(folder: Path) -> "shutil._ntuple_diskusage":
    """Return the total, used and free bytes of the disk of a folder, which need not exist."""
    return shutil.disk_usage(existing(folder))


def existing(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(each for each in (folder, *folder.parents) if each.exists())


def free_bytes(folder: Path) -> int:
    """Return the number of free bytes on the disk of a folder, which need not exist."""
    return usage(folder).free


def is_short(settings: Settings, *, wanted_bytes: int = 0, only_blobs: bool = False) -> bool:
    """Return whether writing `wanted_bytes` would leave less than the reserve on any disk."""
    needed = settings.disk_reserve_mb * 1_000_000 + wanted_bytes
    return any(free_bytes(folder) < needed for folder in folders(settings)[only_blobs:])


def problem(settings: Settings) -> str | None:
    """Return why the service cannot start: a disk is read-only or has too little free space."""
    reserve = max(settings.disk_reserve_mb, SMALLEST_RESERVE_MB)
    for folder in folders(settings):
        if os.statvfs(existing(folder)).f_flag & os.ST_RDONLY:
            return f"{folder} is on a read-only file system. Mount it with write access."
        if (free := free_bytes(folder)) < reserve * 1_000_000:
            return (
                f"{folder} has only {free / 1e6:,.0f} MB of free space, but {reserve:,} MB are required. "
                "Free some space (`fairboard doctor` lists files that you can delete), or lower "
                f"{PREFIX}DISK_RESERVE_MB."
            )
    return None


def is_full(error: BaseException) -> bool:
    """Return whether an error or one of its causes reports a full disk."""
    return any(_says_full(each) for each in _origins(error))


def _says_full(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in _FULL
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", None) in _SQLITE_FULL
    return getattr(error, "sqlstate", None) == _POSTGRESQL_FULL


def _origins(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = getattr(error, "orig", None) or error.__cause__


def sync(path: Path) -> None:
    """Sync a file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

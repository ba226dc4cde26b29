"""Cache of submissions' ranked predictions on disk, so that a rescoring need not read files again.

Everything here can be computed again: nothing is synced, no backup needs it, and whoever finds an entry
damaged, of another format or gone reads the file instead.
"""

import json
import logging
import os
import secrets
import shutil
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grader.metrics import RankArray
from grader.settings import Settings

# Raised whenever the reading of files or their ranks may give anything else than before.
FORMAT = 2
ALIGNMENT = 64
CHECKSUM_BYTES = 8

KEPT_FOR_SECONDS = 24 * 3600
LOOK_AGAIN_SECONDS = 60
SHARE_OF_ONE_LOOK = 16
FREE_SHARE_OF_DISK = 10
CACHEDIR_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Backups leave folders with this file out.\n"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, slots=True)
class RankedFile:
    """What scoring needs of an accepted file: its ranks in the order of the row ids, and its notes.

    `other_labels` are those of its columns that only a competition with such labels accepts.
    """

    ranks: RankArray
    notes: list[dict[str, Any]]
    other_labels: tuple[str, ...] = ()


class RankCache:
    """Ranks as files `ab/abcdef…` below a folder, which any number of processes share.

    An entry is named by the contents of the file and of the row ids, and so never changes; it appears
    complete, by a rename. When there is no room the entries go whose last use is longest ago. Those that
    were used within a day stay, and the new one is not kept: a rescoring goes through all submissions in
    turn, and where not all of them fit each would otherwise drive out one that is needed soon.

    Each process looks at the folder when it has used up its share of the room, so that together they pass
    the limit by a few shares at most. The last tenth of the disk is left to others.
    """

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._room = 0
        self._is_full_until = float("-inf")

    @classmethod
    def of(cls, settings: Settings) -> "RankCache | None":
        """Return the cache of an installation on this machine, None if it has no room at all."""
        if not settings.rank_cache_mb:
            return None
        return cls(settings.cache() / "ranks", max_bytes=settings.rank_cache_mb * 1_000_000)

    def get(self, submission_sha256: str, row_ids_sha256: str) -> RankedFile | None:
        """Return the ranks of a file, None if they are not kept."""
        path = self._path(submission_sha256, row_ids_sha256)
        try:
            entry = path.read_bytes()
        except OSError:
            return None
        file = _unpack(entry, {"submission": submission_sha256, "row_ids": row_ids_sha256})
        try:
            if file is None:
                path.unlink()
            else:
                os.utime(path)  # its last use
        except OSError:
            pass  # another process was quicker, or may write here and we may not
        return file

    def put(self, submission_sha256: str, row_ids_sha256: str, file: RankedFile) -> None:
        """Keep the ranks of a file if there is room; never raises for want of a disk."""
        entry = _pack(file, {"submission": submission_sha256, "row_ids": row_ids_sha256})
        path = self._path(submission_sha256, row_ids_sha256)
        try:
            if self._has_room(len(entry)):
                _write(path, entry)
        except OSError as error:
            logger.warning("The ranks of a file could not be kept: %s.", error)

    def _path(self, submission_sha256: str, row_ids_sha256: str) -> Path:
        return self._folder / submission_sha256[:2] / f"{submission_sha256}-{row_ids_sha256}"

    def _has_room(self, size: int) -> bool:
        if size > self._room and time.monotonic() >= self._is_full_until:
            self._make_room(size)
        if size > self._room:
            return False
        self._room -= size
        return True

    def _make_room(self, size: int) -> None:
        """Let entries go whose last use is longest ago, and take a share of what is free."""
        self._found()
        share = max(size, self._max_bytes // SHARE_OF_ONE_LOOK)
        entries = sorted(self._entries())
        kept = sum(entry.size for entry in entries)
        disk = shutil.disk_usage(self._folder)
        limit = min(self._max_bytes, kept + disk.free - disk.total // FREE_SHARE_OF_DISK)
        oldest_kept = time.time() - KEPT_FOR_SECONDS
        for entry in entries:
            if kept + share <= limit or entry.used_at > oldest_kept:
                break
            entry.path.unlink(missing_ok=True)
            kept -= entry.size
        self._room = min(share, limit - kept)
        if size > self._room:
            self._is_full_until = time.monotonic() + LOOK_AGAIN_SECONDS

    def _entries(self) -> Iterator["_Entry"]:
        """Yield everything below the folder, also what killed processes left half-written."""
        for folder in self._folder.iterdir():
            if folder.is_dir():
                for path in folder.iterdir():
                    try:
                        facts = path.stat()
                    except FileNotFoundError:
                        continue
                    yield _Entry(facts.st_mtime, facts.st_size, path)

    def _found(self) -> None:
        tag = self._folder / "CACHEDIR.TAG"
        if not tag.exists():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            tag.write_text(CACHEDIR_TAG)


@dataclass(frozen=True, order=True, slots=True)
class _Entry:
    used_at: float
    size: int
    path: Path


def _pack(file: RankedFile, names: dict[str, str]) -> bytes:
    """Return the checksum of what follows, a line of JSON filled up with spaces, and the ranks."""
    ranks = np.ascontiguousarray(file.ranks, file.ranks.dtype.newbyteorder("<"))
    header = {
        "format": FORMAT,
        **names,
        "rows": ranks.size,
        "type": ranks.dtype.str,
        "notes": file.notes,
        "other_labels": file.other_labels,
    }
    line = json.dumps(header).encode()
    start = CHECKSUM_BYTES + len(line) + 1
    line += b" " * (-start % ALIGNMENT) + b"\n"
    rest = line + ranks.tobytes()
    return f"{zlib.crc32(rest):08x}".encode() + rest


def _unpack(entry: bytes, names: dict[str, str]) -> RankedFile | None:
    """Return what an entry holds, None if it is damaged, of another format or not the one of these names."""
    if entry[:CHECKSUM_BYTES] != f"{zlib.crc32(memoryview(entry)[CHECKSUM_BYTES:]):08x}".encode():
        return None
    end = entry.find(b"\n")
    header = json.loads(entry[CHECKSUM_BYTES:end] or b"{}")
    if header.get("format") != FORMAT or any(header[key] != value for key, value in names.items()):
        return None
    ranks = np.frombuffer(entry, header["type"], count=header["rows"], offset=end + 1)
    return RankedFile(ranks, header["notes"], tuple(header["other_labels"]))


def _write(path: Path, entry: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"draft-{secrets.token_hex(16)}")
    try:
        draft.touch(mode=0o600)
        draft.write_bytes(entry)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)

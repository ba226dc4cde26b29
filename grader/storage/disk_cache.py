"""Size-limited disk cache for computed results, shared between processes.

All entries can be computed again, so they are neither synced nor backed up. Damaged entries count as missing.
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
from typing import Any, NamedTuple

ALIGNMENT = 64  # arrays are read in place, without a copy
CHECKSUM_BYTES = 8
BLOCK_BYTES = 4096  # disk space is allocated in blocks

KEPT_FOR_SECONDS = 24 * 3600
LOOK_AGAIN_SECONDS = 60
SHARE_OF_ONE_LOOK = 16
FREE_SHARE_OF_DISK = 10
MOST_FREE_BYTES = 5_000_000_000
CACHEDIR_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n# Backup tools skip folders that contain this file.\n"
)

logger = logging.getLogger(__name__)


class Kept(NamedTuple):
    """The contents of an entry: JSON-ready metadata and bytes."""

    facts: dict[str, Any]
    data: memoryview


class DiskCache:
    """Metadata and bytes by key, stored as files `ab/abcdef…` below a folder.

    A key identifies the inputs of its entry, so entries never change. They are written atomically by a
    rename. A full cache deletes the least recently used entries, but none that was used within the last day.
    If there are no older entries, it stores nothing. Without this rule, a rescoring, which reads all
    submissions in turn, would evict entries that it needs soon. Each process scans the folder when it has
    used up its share of the free space, so the limit is exceeded by at most a few shares. One tenth of the
    disk stays free, at most 5 GB.
    """

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._room = 0
        self._is_full_until = float("-inf")

    def get(self, key: str) -> Kept | None:
        """Return an entry, or None if there is none."""
        path = self._path(key)
        try:
            entry = path.read_bytes()
        except OSError:
            return None
        kept = _unpack(entry, key)
        try:
            if kept is None:
                path.unlink()
            else:
                os.utime(path)  # records the last use
        except OSError:
            pass  # another process has deleted the entry, or this process may not write
        return kept

    def put(self, key: str, facts: dict[str, Any], data: bytes = b"") -> None:
        """Store an entry if there is space; a full disk raises no error."""
        entry = _pack(key, facts, data)
        try:
            if self._has_room(_on_disk(len(entry))):
                _write(self._path(key), entry)
        except OSError as error:
            logger.warning("An entry of the cache %s could not be stored: %s.", self._folder.name, error)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key

    def _has_room(self, size: int) -> bool:
        if size > self._room and time.monotonic() >= self._is_full_until:
            self._make_room(size)
        if size > self._room:
            return False
        self._room -= size
        return True

    def _make_room(self, size: int) -> None:
        """Delete the least recently used entries and reserve a share of the free space."""
        self._make_folder()
        share = max(size, self._max_bytes // SHARE_OF_ONE_LOOK)
        entries = sorted(self._entries())
        kept = sum(entry.size for entry in entries)
        disk = shutil.disk_usage(self._folder)
        reserve = min(disk.total // FREE_SHARE_OF_DISK, MOST_FREE_BYTES)
        limit = min(self._max_bytes, kept + disk.free - reserve)
        oldest_kept = time.time() - KEPT_FOR_SECONDS
        for entry in entries:
            if kept + share <= limit or entry.used_at > oldest_kept:
                break
            entry.path.unlink(missing_ok=True)
            kept -= entry.size
        self._room = min(share, limit - kept)
        if size > self._room:
            self._is_full_until = time.monotonic() + LOOK_AGAIN_SECONDS

    def _entries(self) -> Iterator["_CachedBlob"]:
        """Yield all files below the folder, including incomplete files of killed processes."""
        for folder in self._folder.iterdir():
            if folder.is_dir():
                for path in folder.iterdir():
                    try:
                        facts = path.stat()
                    except FileNotFoundError:
                        continue
                    yield _CachedBlob(facts.st_mtime, _on_disk(facts.st_size), path)

    def _make_folder(self) -> None:
        tag = self._folder / "CACHEDIR.TAG"
        if not tag.exists():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            tag.write_text(CACHEDIR_TAG)


@dataclass(frozen=True, order=True, slots=True)
class _CachedBlob:
    used_at: float
    size: int
    path: Path


def _on_disk(size: int) -> int:
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES


def _pack(key: str, facts: dict[str, Any], data: bytes) -> bytes:
    """Return the bytes of an entry: a checksum, a padded line of JSON, and the data."""
    line = json.dumps({"key": key, "facts": facts}).encode()
    start = CHECKSUM_BYTES + len(line) + 1
    rest = line + b" " * (-start % ALIGNMENT) + b"\n" + data
    return f"{zlib.crc32(rest):08x}".encode() + rest


def _unpack(entry: bytes, key: str) -> Kept | None:
    """Return the contents of an entry, or None if it is damaged or has a different key."""
    if entry[:CHECKSUM_BYTES] != f"{zlib.crc32(memoryview(entry)[CHECKSUM_BYTES:]):08x}".encode():
        return None
    end = entry.find(b"\n")
    header = json.loads(entry[CHECKSUM_BYTES:end] or b"{}")
    if header.get("key") != key:
        return None
    return Kept(header["facts"], memoryview(entry)[end + 1 :])


def _write(path: Path, entry: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"draft-{secrets.token_hex(16)}")
    try:
        draft.touch(mode=0o600)
        draft.write_bytes(entry)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)

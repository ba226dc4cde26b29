"""Size-limited disk cache of encoded predictions, shared between processes.

All entries can be computed again, so they are neither synced nor backed up. Damaged entries count as missing.
"""

import hashlib
import io
import json
import logging
import os
import secrets
import shutil
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grader import counters
from grader.settings import Settings

# Increase this number whenever the way in which files are read or ranked changes.
RANKS_FORMAT = 4
RANKS = "ranks"
CHECKSUM_BYTES = 8
KEPT_FOR_SECONDS = 24 * 3600
LOOK_AGAIN_SECONDS = 15
FREE_SHARE_OF_DISK = 10
MOST_FREE_BYTES = 5_000_000_000
CACHEDIR_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n# Backup tools skip folders that contain this file.\n"
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, slots=True)
class EncodedFile:
    """The encoded predictions of an accepted file in the order of the row ids, with its notes.

    `other_labels` are the names of its columns with predictions of other labels.
    """

    encoded: Any
    notes: list[dict[str, Any]]
    other_labels: tuple[str, ...] = ()


class RankCache:
    """Encoded predictions by the hashes of the file and the row ids, and the encoding.

    A key identifies the inputs of its entry, so entries never change. They are written atomically by a
    rename. Each process determines the size of the cache every 15 s. Then, a full cache deletes the least
    recently used entries, but none that was used within the last day. If there are no older entries, it
    stores nothing. Without this rule, a rescoring, which reads all submissions in turn, would evict entries
    that it needs soon. One tenth of the disk stays free, at most 5 GB.
    """

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder, self._max_bytes = folder, max_bytes
        self._look_at, self._has_room = float("-inf"), False

    @classmethod
    def of(cls, settings: Settings) -> "RankCache | None":
        """Return the cache of an installation, or None if its size is set to 0."""
        if not settings.rank_cache_mb:
            return None
        return cls(settings.cache() / "ranks", max_bytes=settings.rank_cache_mb * 1_000_000)

    def get(self, submission_sha256: str, row_ids_sha256: str, encoding: str = RANKS) -> EncodedFile | None:
        """Return the cached predictions of a file, or None."""
        path = self._path(submission_sha256, row_ids_sha256, encoding)
        try:
            kept = _unpack(path.read_bytes(), path.name)
            if kept is None:
                path.unlink()
            else:
                os.utime(path)  # records the last use
        except OSError:  # there is no such entry, or another process has deleted it
            kept = None
        counters.CACHES.add("ranks", "miss" if kept is None else "hit")
        return kept

    def put(
        self, submission_sha256: str, row_ids_sha256: str, file: EncodedFile, encoding: str = RANKS
    ) -> None:
        """Store the predictions of a file if there is space; a full disk raises no error."""
        path = self._path(submission_sha256, row_ids_sha256, encoding)
        draft = path.with_name(f"draft-{secrets.token_hex(16)}")
        try:
            if time.monotonic() >= self._look_at:
                self._make_room()
            if self._has_room:
                path.parent.mkdir(exist_ok=True, mode=0o700)
                draft.touch(mode=0o600)
                draft.write_bytes(_pack(file, path.name))
                draft.replace(path)
        except OSError as error:
            logger.warning("An entry of the cache could not be stored: %s.", error)
            with suppress(OSError):
                draft.unlink()

    def _path(self, submission_sha256: str, row_ids_sha256: str, encoding: str) -> Path:
        suffix = hashlib.sha256(encoding.encode()).hexdigest()[:16]
        key = f"{submission_sha256}-{row_ids_sha256}-{RANKS_FORMAT}-{suffix}"
        return self._folder / key[:2] / key

    def _make_room(self) -> None:
        """Delete the least recently used entries, including incomplete files of killed processes."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self._folder / "CACHEDIR.TAG").write_text(CACHEDIR_TAG)
        entries = list[tuple[float, int, Path]]()
        for path in self._folder.glob("*/*"):
            with suppress(FileNotFoundError):
                facts = path.stat()
                entries.append((facts.st_mtime, facts.st_size, path))
        size, disk = sum(each[1] for each in entries), shutil.disk_usage(self._folder)
        reserve = min(disk.total // FREE_SHARE_OF_DISK, MOST_FREE_BYTES)
        limit = min(self._max_bytes, size + disk.free - reserve)
        for used_at, entry_size, path in sorted(entries):
            if size < limit or used_at > time.time() - KEPT_FOR_SECONDS:
                break
            path.unlink(missing_ok=True)
            size -= entry_size
        self._has_room, self._look_at = size < limit, time.monotonic() + LOOK_AGAIN_SECONDS


def _pack(file: EncodedFile, key: str) -> bytes:
    """Return the bytes of an entry: a checksum, the array, and JSON."""
    content = io.BytesIO()
    np.save(content, np.ascontiguousarray(file.encoded), allow_pickle=False)
    content.write(json.dumps([file.notes, file.other_labels]).encode())
    return _checksum(content.getbuffer(), key) + content.getbuffer()


def _unpack(entry: bytes, key: str) -> EncodedFile | None:
    """Return the contents of an entry, or None if it is damaged or has a different key."""
    if entry[:CHECKSUM_BYTES] != _checksum(memoryview(entry)[CHECKSUM_BYTES:], key):
        return None
    content = io.BytesIO(entry)
    content.seek(CHECKSUM_BYTES)
    encoded = np.load(content, allow_pickle=False)
    notes, other_labels = json.loads(content.read())
    return EncodedFile(encoded, notes, tuple(other_labels))


def _checksum(content: memoryview, key: str) -> bytes:
    return f"{zlib.crc32(content, zlib.crc32(key.encode())):08x}".encode()

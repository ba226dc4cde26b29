"""All data files of a competition as one zip, and the checksums that a zip needs of each."""

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from grader.settings import Settings
from grader.storage import blob_streams
from grader.storage.disk_cache import DiskCache
from grader.storage.stored_zip import Member, StoredZip
from grader.storage.stores import CHUNK_BYTES, Storage, StoredBlob

MAX_BYTES = 20_000_000  # about 5,000 of them


@dataclass(frozen=True, slots=True)
class Packed:
    """A file to be packed: its name and its blob."""

    name: str
    blob: StoredBlob


class Checksums:
    """CRC-32 of blobs: computed once, and kept in a cache on disk."""

    def __init__(self, files: DiskCache) -> None:
        self._files = files

    @classmethod
    def of(cls, settings: Settings) -> "Checksums":
        """Return those that an installation keeps on this machine."""
        return cls(DiskCache(settings.cache() / "checksums", max_bytes=MAX_BYTES))

    def crc(self, storage: Storage, sha256: str) -> int:
        """Return the checksum of a blob; raise BlobMissing, StorageUnavailable."""
        kept = self._files.get(sha256)
        if kept is not None:
            return int(kept.facts["crc"])
        crc = 0
        with storage.open(sha256) as file:
            while chunk := file.read(CHUNK_BYTES):
                crc = zlib.crc32(chunk, crc)
        self._files.put(sha256, {"crc": crc})
        return crc


def version_of(files: Sequence[Packed]) -> str:
    """Return what names the bytes of the zip of these files."""
    parts = "\n".join(f"{file.blob.sha256} {file.name}" for file in files)
    return hashlib.sha256(parts.encode()).hexdigest()


def opened(storage: Storage, checksums: Checksums, files: Sequence[Packed]) -> BinaryIO:
    """Return the zip of these files, readable from any place; raise BlobMissing, StorageUnavailable."""
    last = _LastOpened(storage)
    members = [
        Member(
            file.name,
            file.blob.size,
            checksums.crc(storage, file.blob.sha256),
            partial(last.read, file.blob.sha256),
        )
        for file in files
    ]
    packed = StoredZip(members)
    return blob_streams.stream(packed.size, packed.read_at, piece_bytes=CHUNK_BYTES, close=last.close)


class _LastOpened:
    """Reads blobs; the one that was read last stays open."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._sha256 = ""
        self._file: BinaryIO | None = None

    def read(self, sha256: str, place: int, length: int) -> bytes:
        if self._file is None or sha256 != self._sha256:
            self.close()
            self._file, self._sha256 = self._storage.open(sha256), sha256
        self._file.seek(place)
        return self._file.read(length)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

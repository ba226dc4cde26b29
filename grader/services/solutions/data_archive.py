"""Reproducible ZIP archive of all data files.

The files are not compressed and have a fixed date, so the size is known in advance. The bytes depend only on
the names and contents of the files, so an interrupted download can continue from any machine.
"""

import hashlib
import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from grader.settings import Settings
from grader.storage.disk_cache import DiskCache
from grader.storage.stores import CHUNK_BYTES, Storage, StoredBlob, stream

DATE = (1 << 5) | 1  # 1 January 1980, the earliest date in the format
UTF8_NAME = 0x800
VERSION = 45  # the version that supports 64-bit numbers
LARGEST_SHORT = 0xFFFFFFFF

Read = Callable[[int, int], bytes]
"""A function that returns the bytes of a file from an offset, up to a maximum length."""
MAX_BYTES = 20_000_000  # enough for about 5,000 checksums


@dataclass(frozen=True, slots=True)
class Member:
    """A file in the archive, smaller than 4 GB."""

    name: str
    size: int
    crc: int
    read: Read


class StoredZip:
    """An uncompressed ZIP archive that is generated while it is read."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._pieces: list[Read] = []
        self._starts: list[int] = []
        self.size = 0
        directory = b""
        for member in members:
            directory += _entry(member, self.size)
            self._add(_header(member))
            if member.size:
                self._add_piece(member.size, member.read)
        self._add(directory + _end(len(members), self.size, len(directory)))

    def read_at(self, place: int, length: int) -> bytes:
        """Return up to `length` bytes, starting at the offset `place`."""
        if not 0 <= place < self.size:
            return b""
        which = bisect_right(self._starts, place) - 1
        end = self._starts[which + 1] if which + 1 < len(self._starts) else self.size
        return self._pieces[which](place - self._starts[which], min(length, end - place))

    def _add(self, data: bytes) -> None:
        self._add_piece(len(data), lambda place, length: data[place : place + length])

    def _add_piece(self, size: int, read: Read) -> None:
        self._starts.append(self.size)
        self._pieces.append(read)
        self.size += size


def _header(member: Member) -> bytes:
    name = member.name.encode()
    facts = (VERSION, UTF8_NAME, 0, 0, DATE, member.crc, member.size, member.size, len(name), 0)
    return struct.pack("<4s5H3I2H", b"PK\3\4", *facts) + name


def _entry(member: Member, place: int) -> bytes:
    name = member.name.encode()
    is_far = place >= LARGEST_SHORT
    extra = struct.pack("<2HQ", 1, 8, place) if is_far else b""
    facts = (VERSION, VERSION, UTF8_NAME, 0, 0, DATE, member.crc, member.size, member.size)
    rest = (len(name), len(extra), 0, 0, 0, 0, LARGEST_SHORT if is_far else place)
    return struct.pack("<4s6H3I5H2I", b"PK\1\2", *facts, *rest) + name + extra


def _end(count: int, place: int, size: int) -> bytes:
    end = b""
    if place >= LARGEST_SHORT:
        end += struct.pack(
            "<4sQ2H2I4Q", b"PK\6\6", 44, VERSION, VERSION, 0, 0, count, count, size, place
        ) + struct.pack("<4sIQI", b"PK\6\7", 0, place + size, 1)
    short = min(place, LARGEST_SHORT)
    return end + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, count, count, size, short, 0)


@dataclass(frozen=True, slots=True)
class Packed:
    """A file for the archive."""

    name: str
    blob: StoredBlob


class Checksums:
    """CRC-32 checksums of blobs, cached on disk."""

    def __init__(self, files: DiskCache) -> None:
        self._files = files

    @classmethod
    def of(cls, settings: Settings) -> "Checksums":
        """Return the checksum cache of this machine."""
        return cls(DiskCache(settings.cache() / "checksums", max_bytes=MAX_BYTES))

    def crc(self, storage: Storage, sha256: str) -> int:
        """Return the checksum of a blob; raise BlobMissing or StorageUnavailable."""
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
    """Return a hash that identifies the bytes of an archive."""
    parts = "\n".join(f"{file.blob.sha256} {file.name}" for file in files)
    return hashlib.sha256(parts.encode()).hexdigest()


def opened(storage: Storage, checksums: Checksums, files: Sequence[Packed]) -> BinaryIO:
    """Return a seekable stream of the archive; raise BlobMissing or StorageUnavailable."""
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
    return stream(packed.size, packed.read_at, piece_bytes=CHUNK_BYTES, close=last.close)


class _LastOpened:
    """A blob reader that keeps the last blob open."""

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

"""A zip of files that are not compressed and have one fixed date: any range of it can be read by itself.

Its bytes follow from the names, lengths and checksums of the files alone, so that a download which broke off
continues where it was, on whichever machine.
"""

import struct
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

DATE = (1 << 5) | 1  # 1 January 1980, the first day that the format knows
UTF8_NAME = 0x800
VERSION = 45  # with numbers of 64 bits
LARGEST_SHORT = 0xFFFFFFFF

Read = Callable[[int, int], bytes]
"""Return some of a file's bytes from a place on, at most as many as are asked for."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file of the zip. It has less than 4 GB."""

    name: str
    size: int
    crc: int
    read: Read


class StoredZip:
    """The zip of some files, in their order."""

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
        """Return some of the bytes from `place` on, at most `length`."""
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

"""Uncompress a gzip file of several members."""

import re
import zlib
from typing import BinaryIO

from grader.files.reading.unreadable import Unreadable, damaged_gzip, too_many_members, truncated_gzip

CHUNK_BYTES = 1 << 16
# Blocks of 64 KB, as bgzip and parallel compressors write them, are far larger than a tiny member. Tiny ones
# cost time and give nothing: a file of 50 MB has room for 2.4 million empty ones.
TINY_BYTES = 4096
MOST_TINY_MEMBERS = 100_000
# How much of the file a member is given at a time: what it leaves is copied, so that a small member must not
# be given a large piece, and a large one should not be given small pieces.
_FIRST_PIECE = 512
_PIECE_GROWTH = 8
_PADDING = re.compile(rb"\0+")


class GzipMembers:
    """What the members of a gzip file hold, with their checksums proven and damage located to the byte."""

    def __init__(self, raw: BinaryIO) -> None:
        self._source = raw
        self._buffer = memoryview(b"")
        self._position = 0  # of the first byte of `_buffer` in the file
        self._tiny_count = 0
        self._begin()

    def more(self, most: int) -> bytes:
        """Return at least one and at most `most` uncompressed bytes, none at the end; raise Unreadable."""
        while True:
            if self._member.eof and not self._next_member():
                return b""
            if not self._buffer:
                self._fill()
            if not self._buffer:
                raise Unreadable(truncated_gzip(self._position))
            if data := self._step(most):
                return data

    def _begin(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._piece = _FIRST_PIECE
        self._given = 0

    def _fill(self) -> None:
        self._buffer = memoryview(self._source.read(CHUNK_BYTES))

    def _take(self, count: int) -> None:
        self._position += count
        self._buffer = self._buffer[count:]

    def _next_member(self) -> bool:
        """Move to the member that follows; zero bytes between are padding, as for gzip itself."""
        while True:
            if not self._buffer:
                self._fill()
            if not self._buffer:
                return False
            if self._buffer[0]:
                self._begin()
                return True
            self._take(_padding(self._buffer))

    def _step(self, most: int) -> bytes:
        piece = self._buffer[: self._piece]
        is_first = self._piece == _FIRST_PIECE  # its member is as good as a new one
        before = None if is_first else self._member.copy()
        try:
            data = self._member.decompress(piece, most)
        except zlib.error as error:
            before = before or zlib.decompressobj(zlib.MAX_WBITS | 16)
            offset = _first_bad_byte(before, piece)
            raise Unreadable(damaged_gzip(self._position + offset, str(error))) from error
        rest = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        self._take(len(piece) - len(rest))
        self._piece = min(self._piece * _PIECE_GROWTH, CHUNK_BYTES)
        self._given += len(data)
        if self._member.eof and self._given < TINY_BYTES:
            self._tiny_count += 1
            if self._tiny_count > MOST_TINY_MEMBERS:
                raise Unreadable(too_many_members(self._position, MOST_TINY_MEMBERS, TINY_BYTES))
        return data


def _padding(data: memoryview) -> int:
    """Count the zero bytes at the beginning."""
    match = _PADDING.match(data)
    return match.end() if match else 0


def _first_bad_byte(member: "zlib._Decompress", data: memoryview) -> int:
    """Return the offset in `data` of the byte at which uncompressing fails."""
    for offset in range(len(data)):
        try:
            member.decompress(data[offset : offset + 1])
        except zlib.error:
            return offset
    return len(data)

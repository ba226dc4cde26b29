"""A stored blob as a readable file, from a folder or a bucket."""

import io
from collections.abc import Callable
from typing import Any, BinaryIO


def stream(
    size: int,
    read_at: Callable[[int, int], bytes],
    *,
    piece_bytes: int,
    close: Callable[[], None] = lambda: None,
    descriptor: int | None = None,
) -> BinaryIO:
    """Return a file of `size` bytes, of which `read_at(place, length)` returns some.

    What that raises comes through all readers: where it is no OSError nobody takes it for damage. A web
    server sends the file of a `descriptor` without reading it.
    """
    return io.BufferedReader(_Pieces(size, read_at, piece_bytes, close, descriptor), piece_bytes)


class _Pieces(io.RawIOBase):
    def __init__(
        self,
        size: int,
        read_at: Callable[[int, int], bytes],
        piece_bytes: int,
        close: Callable[[], None],
        descriptor: int | None,
    ) -> None:
        self._size, self._read_at, self._piece_bytes = size, read_at, piece_bytes
        self._close, self._descriptor = close, descriptor
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        if place < 0:
            raise ValueError(f"There is no place {place:,} in a file.")
        self._place = place
        return place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        data = self._some(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self._some(self._piece_bytes), b""))

    def _some(self, most: int) -> bytes:
        length = min(most, self._size - self._place)
        data = self._read_at(self._place, length) if length > 0 else b""
        self._place += len(data)
        return data

    def fileno(self) -> int:
        if self._descriptor is None:
            raise io.UnsupportedOperation("fileno")
        return self._descriptor

    def close(self) -> None:
        if not self.closed:
            self._close()
        super().close()

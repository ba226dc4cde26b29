"""Bytes of a data file under check, and the limits of the check: size and processor time."""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

CHUNK_BYTES = 1 << 20
MAX_BYTES = 20_000_000_000
SECONDS_PER_GIGABYTE = 150.0  # narrow columns of numbers in a CSV were seen to take 59
LEAST_SECONDS = 20.0
USUAL_RATIO = 50  # what is packed closer than that gets no more time


class GivenUp(Exception):
    """The file is not looked at any further; the message says why, to follow "not opened:"."""


@dataclass(eq=False)
class Budget:
    """What one file may cost, all that is packed into it together.

    The time is that of the processor: on a busy machine a file takes longer, and is looked through all the
    same. It grows with `size`, the bytes of the file, or with the unpacked bytes, up to 50 times `size`.
    `tell` is called with the unpacked bytes now and then.
    """

    max_bytes: int = MAX_BYTES
    seconds_per_gigabyte: float = SECONDS_PER_GIGABYTE
    least_seconds: float = LEAST_SECONDS
    size: int = 0
    tell: Callable[[int], None] = lambda _: None
    spent: int = field(default=0, init=False)
    _begun_at: float = field(default_factory=time.process_time, init=False)

    def spend(self, size: int) -> None:
        """Count unpacked bytes; raise GivenUp where it is too much."""
        self.spent += size
        if self.spent > self.max_bytes:
            raise GivenUp(f"it holds more than {self.max_bytes / 1e9:,.1f} GB unpacked")
        self.go_on()
        self.tell(self.spent)

    def go_on(self) -> None:
        """Raise GivenUp where the time is over."""
        counted = max(self.size, min(self.spent, USUAL_RATIO * self.size))
        allowed = max(self.least_seconds, self.seconds_per_gigabyte * counted / 1e9)
        if time.process_time() - self._begun_at > allowed:
            raise GivenUp(f"it cannot be checked within {allowed:,.0f} seconds of processor time")


class CountedStream(io.RawIOBase):
    """A stream whose bytes are paid for as they are read."""

    def __init__(self, stream: IO[bytes], budget: Budget) -> None:
        self._stream = stream
        self._budget = budget

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        """Read into a buffer; raise GivenUp."""
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._budget.spend(len(data))
        return len(data)


class NotReadNow(Exception):
    """The bytes cannot be read at the moment, or there is no room to unpack them: the machine's fault."""


class Source(io.RawIOBase):
    """A file whose storage failures are not mistaken for damage, although readers raise the same errors."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return whether one can go back."""
        return self._file.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place; one that is not there is what a damaged file says."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the place."""
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer; raise NotReadNow."""
        try:
            data = self._file.read(len(buffer))
        except OSError as error:
            raise NotReadNow(str(error)) from error
        buffer[: len(data)] = data
        return len(data)


def copy(stream: IO[bytes], target: IO[bytes]) -> None:
    """Copy a stream to a file of this machine; raise NotReadNow where there is no room for it."""
    while chunk := stream.read(CHUNK_BYTES):  # what this raises is of the stream
        try:
            target.write(chunk)
        except OSError as error:
            raise NotReadNow(str(error)) from error
    try:
        target.flush()
    except OSError as error:
        raise NotReadNow(str(error)) from error

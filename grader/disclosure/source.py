"""Input streams of the leak check, with limits on size and CPU time."""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

CHUNK_BYTES = 1 << 20
MAX_BYTES = 20_000_000_000
SECONDS_PER_GIGABYTE = 150.0  # in measurements, CSV files with narrow numeric columns took 59 seconds
LEAST_SECONDS = 20.0
USUAL_RATIO = 50  # the compression ratio up to which unpacked bytes extend the time limit


class GivenUp(Exception):
    """The check of a part of the file ended early; the message completes "x was not checked:"."""


@dataclass(eq=False)
class Budget:
    """The size and CPU time limits for one file and everything that is packed into it.

    CPU time is limited rather than elapsed time, so that a busy machine does not affect the result. The limit
    grows with the file's `size` in bytes or, if it is larger, with the unpacked size up to 50 times `size`.
    `tell` is called with the number of unpacked bytes after each read.
    """

    max_bytes: int = MAX_BYTES
    seconds_per_gigabyte: float = SECONDS_PER_GIGABYTE
    least_seconds: float = LEAST_SECONDS
    size: int = 0
    tell: Callable[[int], None] = lambda _: None
    spent: int = field(default=0, init=False)
    _begun_at: float = field(default_factory=time.process_time, init=False)

    def spend(self, size: int) -> None:
        """Count unpacked bytes; raise GivenUp if a limit is exceeded."""
        self.spent += size
        if self.spent > self.max_bytes:
            raise GivenUp(f"it contains more than {self.max_bytes / 1e9:,.1f} GB of unpacked data")
        self.go_on()
        self.tell(self.spent)

    def go_on(self) -> None:
        """Raise GivenUp if the time limit is exceeded."""
        counted = max(self.size, min(self.spent, USUAL_RATIO * self.size))
        allowed = max(self.least_seconds, self.seconds_per_gigabyte * counted / 1e9)
        if time.process_time() - self._begun_at > allowed:
            raise GivenUp(f"it cannot be checked within {allowed:,.0f} seconds of CPU time")


class CountedStream(io.RawIOBase):
    """A stream that counts its bytes against a budget."""

    def __init__(self, stream: IO[bytes], budget: Budget) -> None:
        self._stream = stream
        self._budget = budget

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        """Read into a buffer; raise GivenUp."""
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._budget.spend(len(data))
        return len(data)


class NotReadNow(Exception):
    """The file cannot be read or unpacked because the storage or the disk of this machine fails."""


class Source(io.RawIOBase):
    """A file that raises NotReadNow if the storage fails; an OSError would be treated as damage."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether the file is seekable."""
        return self._file.seekable()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Change the position; errors are not converted, because damaged files cause them."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
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
    """Copy a stream to a local file; raise NotReadNow if it cannot be written."""
    while chunk := stream.read(CHUNK_BYTES):  # errors of the stream are passed on
        try:
            target.write(chunk)
        except OSError as error:
            raise NotReadNow(str(error)) from error
    try:
        target.flush()
    except OSError as error:
        raise NotReadNow(str(error)) from error

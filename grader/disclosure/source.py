"""Input stream of the leak check, with limits on size and CPU time."""

import gzip
import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

MAX_BYTES = 20_000_000_000
SECONDS_PER_GIGABYTE = 150.0
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
        allowed = max(LEAST_SECONDS, SECONDS_PER_GIGABYTE * counted / 1e9)
        if time.process_time() - self._begun_at > allowed:
            raise GivenUp(f"it cannot be checked within {allowed:,.0f} seconds of CPU time")


class CountedStream(io.RawIOBase):
    """A stream that counts its bytes against a budget and does not close its source."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, budget: Budget) -> None:
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

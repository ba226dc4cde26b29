"""How much of a file may be unpacked, and for how long it is looked at."""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

CHUNK_BYTES = 1 << 20


class GivenUp(Exception):
    """The file is not looked at any further; the message says why, to follow "not opened:"."""


@dataclass(eq=False)
class Budget:
    """What one file may cost, all that is packed into it together.

    `tell` is called with the unpacked bytes now and then.
    """

    max_bytes: int
    max_seconds: float
    tell: Callable[[int], None] = lambda _: None
    spent: int = field(default=0, init=False)
    _begun_at: float = field(default_factory=time.monotonic, init=False)

    def spend(self, size: int) -> None:
        """Count unpacked bytes; raise GivenUp where it is too much."""
        self.spent += size
        if self.spent > self.max_bytes:
            raise GivenUp(f"it holds more than {self.max_bytes / 1e9:,.1f} GB unpacked")
        if time.monotonic() - self._begun_at > self.max_seconds:
            raise GivenUp(f"it cannot be read within {self.max_seconds / 60:,.0f} minutes")
        self.tell(self.spent)


class CountedStream(io.RawIOBase):
    """A stream whose bytes are paid for as they are read."""

    def __init__(self, stream: IO[bytes], budget: Budget) -> None:
        self._stream = stream
        self._budget = budget

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        """Read into a buffer; raise GivenUp."""
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._budget.spend(len(data))
        return len(data)

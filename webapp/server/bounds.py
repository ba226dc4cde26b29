"""Limits on slow clients: receive and send timeouts, number of connections."""

import resource
from dataclasses import dataclass

OPEN_FILES = 65_536
FILES_FOR_OTHERS = 256  # of the database, the blobs, the checker
FILES_FOR_EACH = 3  # the connection, its body, its answer


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one connection, one address and one process may take; times in seconds, sizes in bytes."""

    idle_seconds: float = 15  # without a byte of a request: new, or kept alive
    head_seconds: float = 10  # from the first byte of a request to the end of its head
    grace_seconds: float = 30  # of a body and of an answer, before its rate counts
    slowest_bytes_per_second: int = 8_000  # from its beginning: 50 MB may take 1 h 45 min
    head_bytes: int = 32_768
    unasked_bytes: int = 256_000  # a larger body, or one of unknown length, needs the application's word
    drained_bytes: int = 256_000_000  # of a body that is refused, so that its sender sees the answer
    connections: int = 4_000
    connections_per_address: int = 1_000  # a class of 200 behind one address, with six each, is 1,200 in two

    def is_too_slow(self, seconds: float, size_bytes: int) -> bool:
        """Return whether `size_bytes` in `seconds` is slower than anybody's line."""
        return seconds > self.grace_seconds + size_bytes / self.slowest_bytes_per_second


def of_this_process() -> Bounds:
    """Return the bounds that the open files of this process allow, after raising their limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    default = Bounds().connections
    open_files = most if soft == resource.RLIM_INFINITY else soft
    connections = max(64, min(default, (open_files - FILES_FOR_OTHERS) // FILES_FOR_EACH))
    return Bounds(connections=connections, connections_per_address=connections // 4)

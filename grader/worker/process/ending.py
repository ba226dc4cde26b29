"""Resource limits and SIGTERM handling of worker processes.

On SIGTERM, a scoring process returns its job to the queue and exits. `Stopped` is raised only during
computations, so a transaction is never interrupted. The code that runs the computation returns the job.
"""

import ctypes
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil  # type: ignore[import-untyped]

# Parameters of glibc's mallopt, and the values that keep the arrays of a file of normal size in the process.
_M_TRIM_THRESHOLD, _KEPT_BYTES = -1, 128 << 20
_M_MMAP_THRESHOLD, _LARGEST_KEPT = -3, 32 << 20


class Stopped(SystemExit):
    """The process received a request to end."""


_asked = False
_shields = 0


def limit_memory(megabytes: int) -> None:
    """Limit this process's address space; larger allocations raise MemoryError."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = megabytes * 1024 * 1024
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def keep_freed_memory() -> None:
    """Reuse freed memory for the next file instead of returning it to the system, with glibc."""
    with suppress(AttributeError):  # other C libraries have no mallopt
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_KEPT)


@contextmanager
def memory_limited_beyond_now(megabytes: int) -> Iterator[None]:
    """Limit how much this process's address space may grow, unless a lower limit applies."""
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = psutil.Process().memory_info().vms + megabytes * 1024 * 1024
    known = [each for each in (before, hard) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([wanted, *known]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


def end_process_after(seconds: int) -> None:
    """End this process after `seconds`, even in C code; 0 cancels the limit."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)


def end_process_after_cpu(seconds: float) -> None:
    """End this process after `seconds` of CPU time, even in C code; 0 cancels the limit."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def end_on_request() -> None:
    """Install the SIGTERM handler that ends this process; call it in the main thread."""
    signal.signal(signal.SIGTERM, _hear)


@contextmanager
def shielded() -> Iterator[None]:
    """Defer SIGTERM to the end of the block."""
    global _shields
    _shields += 1
    try:
        yield
    finally:
        _shields -= 1
    _end_if_asked()


@contextmanager
def exposed() -> Iterator[None]:
    """Raise Stopped in this block on SIGTERM, even if `shielded` deferred the signal."""
    global _shields
    before, _shields = _shields, 0
    try:
        _end_if_asked()
        yield
    finally:
        _shields = before


def _hear(_number: int, _frame: object) -> None:
    global _asked
    _asked = True
    _end_if_asked()


def _end_if_asked() -> None:
    if _asked and not _shields:
        raise Stopped

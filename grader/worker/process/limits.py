"""Limits for the site's own processes: memory, time, and parent lifetime."""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# Parameters of glibc's mallopt, and the values that keep the arrays of a file of normal size in the process.
_M_TRIM_THRESHOLD, _KEPT_BYTES = -1, 128 << 20
_M_MMAP_THRESHOLD, _LARGEST_KEPT = -3, 32 << 20
_PR_SET_PDEATHSIG = 1
_LIBRARY = ctypes.CDLL(None)


def limit_memory(megabytes: int) -> None:
    """Limit this process's address space; larger allocations raise MemoryError."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = megabytes * 1024 * 1024
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def keep_freed_memory() -> None:
    """Reuse freed memory for the next file instead of returning it to the system, with glibc."""
    with suppress(AttributeError):  # other C libraries have no mallopt
        _LIBRARY.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        _LIBRARY.mallopt(_M_MMAP_THRESHOLD, _LARGEST_KEPT)


@contextmanager
def memory_limited_beyond_now(megabytes: int) -> Iterator[None]:
    """Limit how much this process's address space may grow, unless a lower limit applies."""
    import psutil  # type: ignore[import-untyped] # the supervisor does not need it

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


def end_with(parent: int) -> None:
    """Kill this process when its parent ends, on Linux; call this in the forked process.

    The signal is sent when the forking thread ends, so this thread must live as long as its process.
    """
    if sys.platform == "linux":
        _LIBRARY.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended in the meantime
        os.kill(os.getpid(), signal.SIGKILL)

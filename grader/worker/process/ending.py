"""Ends of a worker process: limits of memory and time, and SIGTERM.

On SIGTERM a scoring process hands its job back and exits. A transaction is never cut off: `Stopped` is raised
in computations only, and whoever computes gives the job back.
"""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import psutil  # type: ignore[import-untyped]


class Stopped(SystemExit):
    """The process was asked to end."""


_asked = False
_shields = 0


def limit_memory(megabytes: int) -> None:
    """Limit this process's address space; larger allocations raise MemoryError."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = megabytes * 1024 * 1024
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


@contextmanager
def memory_limited_beyond_now(megabytes: int) -> Iterator[None]:
    """Limit the growth of this process's address space, unless a lower limit applies."""
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = psutil.Process().memory_info().vms + megabytes * 1024 * 1024
    known = [each for each in (before, hard) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([wanted, *known]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


def end_process_after(seconds: int) -> None:
    """End this process after `seconds`, even inside C code; 0 cancels the limit."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)


def end_process_after_cpu(seconds: float) -> None:
    """End this process after this processor time, even inside C code; 0 cancels the limit."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def end_on_request() -> None:
    """Let SIGTERM end this process; only the main thread receives it."""
    signal.signal(signal.SIGTERM, _hear)


@contextmanager
def shielded() -> Iterator[None]:
    """Defer a request to end to the end of the block."""
    global _shields
    _shields += 1
    try:
        yield
    finally:
        _shields -= 1
    _end_if_asked()


@contextmanager
def exposed() -> Iterator[None]:
    """Raise Stopped in this block on SIGTERM, also one that `shielded` deferred."""
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

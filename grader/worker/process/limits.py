"""Memory and time limits of the process that scores a file."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import psutil  # type: ignore[import-untyped]


def limit_memory(megabytes: int) -> None:
    """Limit this process's address space; past it an allocation raises MemoryError."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = megabytes * 1024 * 1024
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


@contextmanager
def memory_limited_beyond_now(megabytes: int) -> Iterator[None]:
    """Let this process's address space grow by so much meanwhile, where no lower limit holds."""
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = psutil.Process().memory_info().vms + megabytes * 1024 * 1024
    known = [each for each in (before, hard) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([wanted, *known]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


def end_process_after(seconds: int) -> None:
    """End this process when `seconds` have passed, even inside a loop of C code; 0 calls it off."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)


def end_process_after_cpu(seconds: float) -> None:
    """End this process when it has used so much processor time, even in C code; 0 calls it off."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)

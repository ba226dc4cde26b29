"""The site's own processes: limits of memory, time and lifetime; names of those that hold claims."""

import ctypes
import os
import platform
import resource
import signal
import sys
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

# Parameters of glibc's mallopt, and the values that keep the arrays of a file of normal size in the process.
_M_TRIM_THRESHOLD, _KEPT_BYTES = -1, 128 << 20
_M_MMAP_THRESHOLD, _LARGEST_KEPT = -3, 32 << 20
_PR_SET_PDEATHSIG = 1
_LIBRARY = ctypes.CDLL(None)
START_TIME_TOLERANCE_SECONDS = 5  # tolerance, because clock adjustments affect start times


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


def holder_name() -> str:
    """Return the unique name of this process, under which it holds claims."""
    return _name(os.getpid())


@cache
def machine() -> str:
    """Return the name prefix shared by all processes that are visible to this one."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # The namespace is included because a container sees only its own processes.
        return f"{boot}:{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return f"{platform.node()[:60]}:{uuid.getnode():012x}"


def is_gone(holder: str) -> bool:
    """Return whether a process on this machine has certainly ended; a suspended process has not."""
    import psutil  # type: ignore[import-untyped] # the supervisor does not need it

    _, pid_text, started_text = holder.rsplit("/", 2)
    pid = int(pid_text)
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return True
        # The process id may have been reused.
        return bool(abs(process.create_time() - float(started_text)) > START_TIME_TOLERANCE_SECONDS)
    except psutil.NoSuchProcess:
        return not psutil.pid_exists(pid)
    except psutil.AccessDenied:
        return False


@cache
def _name(pid: int) -> str:
    """Return the name of this process; the id is the cache key because it differs after a fork."""
    import psutil

    return f"{machine()}/{pid}/{psutil.Process(pid).create_time():.2f}"

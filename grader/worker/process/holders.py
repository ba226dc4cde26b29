"""Names of processes that hold claims, and detection of dead local processes."""

import os
import platform
import uuid
from functools import cache
from pathlib import Path

import psutil  # type: ignore[import-untyped]

START_TIME_TOLERANCE_SECONDS = 5  # tolerance, because clock adjustments affect start times


def name() -> str:
    """Return the unique name of this process."""
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
    return f"{machine()}/{pid}/{psutil.Process(pid).create_time():.2f}"

"""Name of a process that claims jobs, and whether such a process of this machine has died."""

import os
import platform
import uuid
from functools import cache
from pathlib import Path

import psutil  # type: ignore[import-untyped]

START_TIME_TOLERANCE_SECONDS = 5  # the clock behind start times may be adjusted


def name() -> str:
    """Return the unique name of this process."""
    return _name(os.getpid())


@cache
def machine() -> str:
    """Return the common prefix of the names of all processes that this one can see."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{Path('/proc/self/ns/pid').stat().st_ino}"  # a container sees its own processes only
    except OSError:
        return f"{platform.node()[:60]}:{uuid.getnode():012x}"


def is_gone(holder: str) -> bool:
    """Return whether a process of this machine has certainly ended; a stopped one has not."""
    _, pid_text, started_text = holder.rsplit("/", 2)
    pid = int(pid_text)
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return True
        # Another process may have the same id now.
        return bool(abs(process.create_time() - float(started_text)) > START_TIME_TOLERANCE_SECONDS)
    except psutil.NoSuchProcess:
        return not psutil.pid_exists(pid)
    except psutil.AccessDenied:
        return False


@cache
def _name(pid: int) -> str:
    """Return the name of this process; a forked child has another id and so another name."""
    return f"{machine()}/{pid}/{psutil.Process(pid).create_time():.2f}"

"""Guardian process that ends the child processes of a killed `fairboard serve`.

Its standard input is a pipe that closes when the supervisor dies. A new `fairboard serve` also ends processes
that have outlived their guardian. An environment variable identifies all processes of a data folder.
"""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]

MARK = "FAIRBOARD_SERVED_FROM"
LOOK_AGAIN_SECONDS = 0.1
ROUNDS = 3


def main() -> None:
    """Wait until standard input closes, then end all processes of the given data folder."""
    while sys.stdin.buffer.read(1):
        pass
    end(Path(sys.argv[1]))


def mark_of(data_dir: Path) -> str:
    """Return the value of the variable `MARK` that all processes serving this folder share."""
    return str(data_dir.resolve())


def find(data_dir: Path) -> list[psutil.Process]:
    """Return the processes that serve the folder, except for the calling process."""
    return [
        process
        for process in psutil.process_iter()
        if process.pid != os.getpid() and _is_ours(process, data_dir)
    ]


def end(data_dir: Path, *, grace_seconds: float = 5) -> int:
    """End all processes that serve the folder, by force after a delay; return their number."""
    count = len(find(data_dir))
    _signal_all(data_dir, psutil.Process.terminate)
    _wait_until_gone(data_dir, grace_seconds)
    for _ in range(ROUNDS):  # a process may start another one before it ends
        if _signal_all(data_dir, psutil.Process.kill):
            _wait_until_gone(data_dir, grace_seconds)
    return count


def _signal_all(data_dir: Path, send: Callable[[psutil.Process], None]) -> bool:
    found = find(data_dir)
    for process in found:
        with suppress(psutil.NoSuchProcess):
            send(process)
    return bool(found)


def _wait_until_gone(data_dir: Path, seconds: float) -> None:
    # psutil.wait_procs would wait forever for an orphan that no process reaps.
    deadline = time.monotonic() + seconds
    while find(data_dir) and time.monotonic() < deadline:
        time.sleep(LOOK_AGAIN_SECONDS)


def _is_ours(process: psutil.Process, data_dir: Path) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        if process.environ().get(MARK) == mark_of(data_dir):
            return True
        # Valkey overwrites its environment, so it is identified by its working directory.
        works_there = process.cwd() == str(data_dir.resolve() / "valkey")
        return works_there and bool(process.name().endswith("-server"))
    except (psutil.Error, OSError):
        return False  # the process has ended or belongs to another user


if __name__ == "__main__":
    main()

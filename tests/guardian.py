"""Standalone program that ends a test process's leftover processes.

A test process starts databases, queues, web servers and browsers. If it is killed, it cannot end them. Its
guardian receives the id of each process, and also finds descendants by a mark in their inherited environment.
Neither is sufficient by itself: Valkey overwrites its environment, and processes started by a child are not
reported.

`python guardian.py MARK [PID]` waits until standard input is closed or the parent has exited. If a PID is
given (that of `make`), the parent is also killed when that process exits.
"""

import contextlib
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Collection
from pathlib import Path

import psutil

# The name does not start with FAIRBOARD_ because tests remove such variables from the environment of
# processes.
MARK = "TESTS_OF_FAIRBOARD"
GUARDIAN = "GUARDIAN_OF_TESTS"
LOOK_SECONDS = 1.0
GRACE_SECONDS = 5.0  # A database needs this long to release its shared memory.
KILL_SECONDS = 60.0


class Ward:
    """A test process, the processes and folders it has registered, and their descendants."""

    def __init__(self, mark: str, told: Collection[psutil.Process] = ()):
        self._mark = mark
        self._known = {process.pid: process for process in told}
        self.folders: list[Path] = []

    def learn(self, line: str):
        """Register the process id, or the folder to remove, that a line from the test process contains."""
        if line.startswith("/"):
            self.folders.append(Path(line))
        else:
            with contextlib.suppress(psutil.NoSuchProcess):
                self._known[int(line)] = psutil.Process(int(line))

    def living(self) -> list[psutil.Process]:
        """Return the running processes started by the test process or its children, except guardians."""
        present = {process.pid: process for process in psutil.process_iter()}
        verdicts: dict[int, bool] = {os.getpid(): False}
        for pid in present:
            if self._is_ours(pid, present, verdicts):
                # The process is recorded now, because the parent that identifies it may exit first.
                self._known[pid] = present[pid]
        return [process for process in self._known.values() if lives(process)]

    def end(self):
        """End all processes; kill them after a grace period."""
        for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
            deadline, asked = time.monotonic() + seconds, set[int]()
            while (living := self.living()) and time.monotonic() < deadline:
                for process in living:
                    if process.pid not in asked:  # This includes processes started in the meantime.
                        asked.add(process.pid)
                        with contextlib.suppress(psutil.Error):
                            process.send_signal(number)
                time.sleep(0.1)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _is_ours(self, pid: int, present: dict[int, psutil.Process], verdicts: dict[int, bool]) -> bool:
        if pid not in verdicts:
            verdicts[pid] = False  # This also terminates on cycles among the parents.
            if pid in present:
                verdict, parent = self._look_at(present[pid])
                verdicts[pid] = self._is_ours(parent, present, verdicts) if verdict is None else verdict
        return verdicts[pid]

    def _look_at(self, process: psutil.Process) -> tuple[bool | None, int]:
        """Return whether a process is ours (None if its parent decides) and its parent's id."""
        with contextlib.suppress(psutil.Error, OSError):
            if self._known.get(process.pid) == process:
                return True, 0
            environment, parent = process.environ(), process.ppid()
            # the guardian of another test process, which exits when its work is done
            if GUARDIAN in environment:
                return False, 0
            return (True if environment.get(MARK, "").startswith(self._mark) else None), parent
        return False, 0


def lives(process: psutil.Process) -> bool:
    """Return whether a process is still running."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _wait(ward: Ward, watched: int, others: Collection[int]):
    """Block until the test process exits; kill it if another watched process exits first."""
    told = b""
    while True:
        ready, _, _ = select.select([0], [], [], LOOK_SECONDS)
        if ready:
            if not (read := os.read(0, 65536)):
                return
            *lines, told = (told + read).split(b"\n")
            for line in lines:
                ward.learn(line.decode())
        if os.getppid() != watched:  # Another process may hold the pipe that it left open.
            return
        if not all(psutil.pid_exists(pid) for pid in others):
            os.kill(watched, signal.SIGKILL)
            others = ()


def main():
    """Wait until the parent has exited, and end the processes that it left behind."""
    watched = os.getppid()
    mark, *others = sys.argv[1:]
    ward = Ward(mark)
    _wait(ward, watched, [int(pid) for pid in others])
    ward.end()


if __name__ == "__main__":
    main()

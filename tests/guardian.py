"""Ends what a test process leaves running, however that process ended; a program of its own.

A test process starts databases, queues, web servers and browsers, and one that is killed ends none of them.
Its guardian is told of each and finds what those started by a mark in their environment, which all of them
inherit. Neither is enough alone: Valkey overwrites its environment, and what a child starts nobody tells.

`python guardian.py MARK [PID]` waits for the end of standard input, or of the parent. Where a PID is given
(that of `make`) its end is the end of the parent, too.
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

MARK = "TESTS_OF_FAIRBOARD"  # not FAIRBOARD_…: tests keep such variables from what they start
GUARDIAN = "GUARDIAN_OF_TESTS"
LOOK_SECONDS = 1.0
GRACE_SECONDS = 5.0  # in which a database gives back its shared memory
KILL_SECONDS = 60.0


class Ward:
    """A test process, what it told, and what it started."""

    def __init__(self, mark: str, told: Collection[psutil.Process] = ()):
        self._mark = mark
        self._known = {process.pid: process for process in told}
        self.folders: list[Path] = []

    def learn(self, line: str):
        """Take a line of what the test process tells: the id of a process, or a folder to remove."""
        if line.startswith("/"):
            self.folders.append(Path(line))
        else:
            with contextlib.suppress(psutil.NoSuchProcess):
                self._known[int(line)] = psutil.Process(int(line))

    def living(self) -> list[psutil.Process]:
        """Return what lives of that which the test process started, directly or not, without guardians."""
        present = {process.pid: process for process in psutil.process_iter()}
        verdicts: dict[int, bool] = {os.getpid(): False}
        for pid in present:
            if self._is_ours(pid, present, verdicts):
                self._known[pid] = present[pid]  # its parent, which tells that it is ours, may end before it
        return [process for process in self._known.values() if lives(process)]

    def end(self):
        """End them all, by force after a grace."""
        for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
            deadline, asked = time.monotonic() + seconds, set[int]()
            while (living := self.living()) and time.monotonic() < deadline:
                for process in living:
                    if process.pid not in asked:  # those that came since, too
                        asked.add(process.pid)
                        with contextlib.suppress(psutil.Error):
                            process.send_signal(number)
                time.sleep(0.1)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _is_ours(self, pid: int, present: dict[int, psutil.Process], verdicts: dict[int, bool]) -> bool:
        if pid not in verdicts:
            verdicts[pid] = False  # also while we ask for its parents
            if pid in present:
                verdict, parent = self._look_at(present[pid])
                verdicts[pid] = self._is_ours(parent, present, verdicts) if verdict is None else verdict
        return verdicts[pid]

    def _look_at(self, process: psutil.Process) -> tuple[bool | None, int]:
        """Return whether a process is ours, None where that depends on its parent, and the parent's id."""
        with contextlib.suppress(psutil.Error, OSError):
            if self._known.get(process.pid) == process:
                return True, 0
            environment, parent = process.environ(), process.ppid()
            if GUARDIAN in environment:  # another test process's, which ends when its work is done
                return False, 0
            return (True if environment.get(MARK, "").startswith(self._mark) else None), parent
        return False, 0


def lives(process: psutil.Process) -> bool:
    """Return whether a process has not ended yet."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _wait(ward: Ward, watched: int, others: Collection[int]):
    """Return when the test process is gone; end it when one of the others is."""
    told = b""
    while True:
        ready, _, _ = select.select([0], [], [], LOOK_SECONDS)
        if ready:
            if not (read := os.read(0, 65536)):
                return
            *lines, told = (told + read).split(b"\n")
            for line in lines:
                ward.learn(line.decode())
        if os.getppid() != watched:  # somebody may hold the pipe that it left
            return
        if not all(psutil.pid_exists(pid) for pid in others):
            os.kill(watched, signal.SIGKILL)
            others = ()


def main():
    """Wait until the parent is gone, and end what it left."""
    watched = os.getppid()
    mark, *others = sys.argv[1:]
    ward = Ward(mark)
    _wait(ward, watched, [int(pid) for pid in others])
    ward.end()


if __name__ == "__main__":
    main()

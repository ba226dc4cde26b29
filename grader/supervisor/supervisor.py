"""Supervisor: starts, restarts (with growing pauses) and stops programs."""

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE
from types import FrameType

from grader.worker.process.child import HAND_BACK_SECONDS, ChildProcess

TICK_SECONDS = 0.2
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# After a longer life a process always restarts at once: a start takes about 1.5 s of one core, so that
# it keeps no machine busy.
SETTLED_AFTER_SECONDS = 10
FIRST_DISTANCE_SECONDS = 0.5
LONGEST_DISTANCE_SECONDS = 30

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Program:
    """A program to run.

    `watches_us` gives it a pipe as standard input that closes with the supervisor. One that `outlives_others`
    is stopped after the others.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()
    grace_seconds: float = 10
    watches_us: bool = False
    outlives_others: bool = False


class Child:
    """A program and its current process, the leader of its own session.

    After an early end the process restarts at once, then with an interval between starts that doubles. After
    a longer life it restarts at once.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._process: ChildProcess | None = None
        self._started_at = 0.0
        self._start_at = 0.0
        self._early_ends = 0

    @property
    def pid(self) -> int | None:
        """The process's id while it runs."""
        return self._process.pid if self._process else None

    @property
    def has_ended(self) -> bool:
        """Whether the current process has ended; `tend` handles it."""
        return self._process is not None and self._process.code is not None

    def tend(self) -> bool:
        """Start the process when it is due, also after its end; return whether it was started."""
        if self._process and (code := self._process.code) is not None:
            self._end()
            self._plan_start(f"ended {_ending(code)}")
        if self._process or time.monotonic() < self._start_at:
            return False
        return self._start()

    def request_stop(self) -> None:
        """Ask the process to end."""
        if self._process:
            self._process.request_end()

    def stop(self) -> None:
        """End the process and what it started, by force after the grace.

        Before that all of them are asked, so that who scores hands back what it has.
        """
        if not self._process:
            return
        self.request_stop()
        if not self._process.ends_within(self.program.grace_seconds):
            self._process.signal_all(signal.SIGTERM)
            self._process.ends_within(HAND_BACK_SECONDS)
        self._end()

    def _start(self) -> bool:
        self._started_at = time.monotonic()
        try:
            self._process = ChildProcess(
                self.program.command,
                environment={**os.environ, **self.program.environment},
                pass_fds=self.program.pass_fds,
                stdin=PIPE if self.program.watches_us else DEVNULL,
                stdout=sys.stderr.fileno(),
                leads_session=True,
            )
        except OSError as error:  # no memory or process available; it may be temporary
            self._plan_start(f"cannot be started ({error})")
            return False
        log.info("%s runs as process %d.", self.program.name, self._process.pid)
        return True

    def _end(self) -> None:
        if self._process:
            self._process.close()  # children of a killed leader would hold its sockets and jobs
        self._process = None

    def _plan_start(self, fact: str) -> None:
        lived = time.monotonic() - self._started_at
        self._early_ends = 0 if lived >= SETTLED_AFTER_SECONDS else self._early_ends + 1
        distance = distance_of_starts(self._early_ends)
        self._start_at = self._started_at + distance
        pause = max(0.0, distance - lived)
        log.warning("%s %s after %.0f s; next start in %.1f s.", self.program.name, fact, lived, pause)


class Supervisor:
    """Starts programs in the order they are added, tends them, and stops them."""

    def __init__(self) -> None:
        self._children: list[Child] = []
        self._stopping = False

    def add(self, program: Program) -> Child:
        """Start a program and keep it running from now on."""
        child = Child(program)
        self._children.append(child)
        self._tend()
        return child

    def run(self) -> None:
        """Keep the programs running until a signal asks to stop."""
        while not self._stopping:
            self._tend()
            time.sleep(TICK_SECONDS)

    def stop(self) -> None:
        """Stop all programs together, then those that outlive the others."""
        for child in self._children:
            if not child.program.outlives_others:
                child.request_stop()
        for child in reversed(self._children):
            child.stop()

    @contextmanager
    def stopping_on_signals(self) -> Iterator[None]:
        """Let signals end `run` within the block; stop all programs at its end."""
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # for example under nohup
                signal.signal(number, self._request_stop)
        try:
            yield
        finally:
            self.stop()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _request_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def _tend(self) -> None:
        for child in self._children:
            child.tend()


def distance_of_starts(early_ends: int) -> float:
    """Return the seconds between two starts after this many early ends in a row."""
    doublings = early_ends - 2
    return min(LONGEST_DISTANCE_SECONDS, FIRST_DISTANCE_SECONDS * 2**doublings) if doublings >= 0 else 0


def _ending(code: int) -> str:
    return f"with code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"

"""Process supervision: start, restart with backoff, and stop."""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from types import FrameType

from grader.worker.process.limits import end_with

TICK_SECONDS = 0.2
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# After running longer than this, a process is restarted immediately. A start takes about 1.5 seconds of CPU
# time, so even repeated restarts do not overload the machine.
SETTLED_AFTER_SECONDS = 10
FIRST_DISTANCE_SECONDS = 0.5
LONGEST_DISTANCE_SECONDS = 30

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Program:
    """A program to run.

    With `outlives_others`, it is stopped after the other programs.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()
    grace_seconds: float = 10
    outlives_others: bool = False


class Child:
    """A program and its current process, which leads its own session.

    After its first early exit, the process is restarted immediately. After each further early exit, the
    interval between starts doubles. A process that has run for a while is always restarted immediately.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._start_at = 0.0
        self._early_ends = 0

    @property
    def pid(self) -> int | None:
        """The id of the process, or None if there is no process."""
        return self._process.pid if self._process else None

    @property
    def has_ended(self) -> bool:
        """Whether the current process has ended and `tend` has not handled it yet."""
        return self._process is not None and self._process.poll() is not None

    def tend(self) -> bool:
        """Start or restart the process if a start is due; return whether it was started."""
        if self._process and (code := self._process.poll()) is not None:
            self._kill_group()
            self._plan_start(f"ended {_ending(code)}")
        if self._process or time.monotonic() < self._start_at:
            return False
        return self._start()

    def request_stop(self) -> None:
        """Send the stop signal to the process."""
        if self._process:
            self._process.terminate()

    def stop(self) -> None:
        """End the process, and kill it with its children after the grace period."""
        if not self._process:
            return
        self.request_stop()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(self.program.grace_seconds)
        self._kill_group()

    def _start(self) -> bool:
        self._started_at = time.monotonic()
        try:
            self._process = subprocess.Popen(
                self.program.command,
                env={**os.environ, **self.program.environment},
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),
                pass_fds=self.program.pass_fds,
                start_new_session=True,
                preexec_fn=partial(end_with, os.getpid()),  # safe, because this process has no threads
            )
        except OSError as error:  # memory or process ids may be exhausted temporarily
            self._plan_start(f"cannot be started ({error})")
            return False
        log.info("%s runs as process %d.", self.program.name, self._process.pid)
        return True

    def _kill_group(self) -> None:
        """Kill the process and its children, which would keep its sockets and jobs."""
        if self._process:
            # This is safe even after the leader has ended, because the system does not reuse ids immediately.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None

    def _plan_start(self, fact: str) -> None:
        lived = time.monotonic() - self._started_at
        self._early_ends = 0 if lived >= SETTLED_AFTER_SECONDS else self._early_ends + 1
        distance = distance_of_starts(self._early_ends)
        self._start_at = self._started_at + distance
        pause = max(0.0, distance - lived)
        log.warning("%s %s after %.0f s; next start in %.1f s.", self.program.name, fact, lived, pause)


class Supervisor:
    """Starts programs in the order in which they are added, keeps them running, and stops them."""

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
        """Keep the programs running until a stop signal is received."""
        while not self._stopping:
            self._tend()
            time.sleep(TICK_SECONDS)

    def stop(self) -> None:
        """Stop most programs together, then the programs that must stop last."""
        for child in self._children:
            if not child.program.outlives_others:
                child.request_stop()
        for child in reversed(self._children):
            child.stop()

    @contextmanager
    def stopping_on_signals(self) -> Iterator[None]:
        """Within the block, handle the signals that end `run`; stop all programs at the end of the block."""
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # signals are ignored under nohup, for example
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
    """Return the number of seconds between two starts after this many consecutive early exits."""
    doublings = early_ends - 2
    return min(LONGEST_DISTANCE_SECONDS, FIRST_DISTANCE_SECONDS * 2**doublings) if doublings >= 0 else 0


def _ending(code: int) -> str:
    return f"with code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"

"""Process supervision: start, restart after a pause, and stop."""

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

from grader.worker.processes import end_with

TICK_SECONDS = 0.2
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# A process that has run longer than this is restarted immediately, and any other after a pause. A start takes
# about 1.5 seconds of CPU time, so even repeated restarts do not overload the machine.
SETTLED_AFTER_SECONDS = 10
PAUSE_SECONDS = 2.0

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Program:
    """A program and its current process, which leads its own session.

    With `outlives_others`, it is stopped after the other programs.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()
    grace_seconds: float = 10
    outlives_others: bool = False
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _started_at: float = field(default=0.0, init=False)
    _start_at: float = field(default=0.0, init=False)

    def tend(self) -> bool:
        """Start or restart the process if a start is due; return whether it was started."""
        if self.process and (code := self.process.poll()) is not None:
            self._kill_group()
            self._plan_start(f"ended with code {code}")  # the negative number of a signal
        if self.process or time.monotonic() < self._start_at:
            return False
        self._started_at = time.monotonic()
        try:
            self.process = subprocess.Popen(
                self.command,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),
                pass_fds=self.pass_fds,
                start_new_session=True,
                preexec_fn=partial(end_with, os.getpid()),  # safe, because this process has no threads
            )
        except OSError as error:  # memory or process ids may be exhausted temporarily
            self._plan_start(f"cannot be started ({error})")
            return False
        log.info("%s runs as process %d.", self.name, self.process.pid)
        return True

    def request_stop(self) -> None:
        """Send the stop signal to the process."""
        if self.process:
            self.process.terminate()

    def stop(self) -> None:
        """End the process, and kill it with its children after the grace period."""
        self.request_stop()
        if self.process:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(self.grace_seconds)
            self._kill_group()

    def _kill_group(self) -> None:
        """Kill the process and its children, which would keep its sockets and jobs."""
        if self.process:
            # This is safe even after the leader has ended, because the system does not reuse ids immediately.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None

    def _plan_start(self, fact: str) -> None:
        lived = time.monotonic() - self._started_at
        pause = PAUSE_SECONDS if lived < SETTLED_AFTER_SECONDS else 0.0
        self._start_at = time.monotonic() + pause
        log.warning("%s %s after %.0f s; next start in %.1f s.", self.name, fact, lived, pause)


class Supervisor:
    """Starts programs in the order in which they are added, keeps them running, and stops them."""

    def __init__(self) -> None:
        self._programs: list[Program] = []
        self._stopping = False

    def add(self, program: Program) -> None:
        """Start a program and keep it running from now on."""
        self._programs.append(program)
        program.tend()

    def run(self) -> None:
        """Keep the programs running until a stop signal is received."""
        while not self._stopping:
            for program in self._programs:
                program.tend()
            time.sleep(TICK_SECONDS)

    def stop(self) -> None:
        """Stop most programs together, then the programs that must stop last."""
        for program in self._programs:
            if not program.outlives_others:
                program.request_stop()
        for program in reversed(self._programs):
            program.stop()

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

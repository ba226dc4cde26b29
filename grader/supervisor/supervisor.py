"""Main loop of the supervisor: keep all programs running until it is stopped."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from grader.supervisor.child import Child, Program

TICK_SECONDS = 0.2
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Supervisor:
    """Starts programs in the order they are added, tends them, and stops them.

    `on_change` is called with the ids of the running processes after every start.
    """

    def __init__(self, on_change: Callable[[Sequence[int]], None]) -> None:
        self._children: list[Child] = []
        self._on_change = on_change
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
        """Stop all programs together, and after them, in reverse order, those that outlive the others."""
        for child in self._children:
            if not child.program.outlives_others:
                child.request_stop()
        for child in reversed(self._children):
            child.stop()
        self._on_change([])

    @contextmanager
    def stopping_on_signals(self) -> Iterator[None]:
        """Let signals end `run` within the block, in which everything is stopped at the end."""
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # as under nohup
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
        started = [child for child in self._children if child.tend()]
        if started:
            self._on_change([child.pid for child in self._children if child.pid])

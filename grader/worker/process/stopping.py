"""Stop a scoring process on SIGTERM: hand its job back, then exit.

A transaction is never cut off. Only computing is: it is raised there, whoever computes gives the job back,
and the process ends when the last shield is down.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Stopped(SystemExit):
    """The process was asked to end."""


_asked = False
_shields = 0


def end_on_request() -> None:
    """Let SIGTERM end this process as this module says; only the main thread hears it."""
    signal.signal(signal.SIGTERM, _hear)


@contextmanager
def shielded() -> Iterator[None]:
    """Put a request off to the end of the block."""
    global _shields
    _shields += 1
    try:
        yield
    finally:
        _shields -= 1
    _end_if_asked()


@contextmanager
def exposed() -> Iterator[None]:
    """Raise Stopped in this block on SIGTERM, also one that `shielded` deferred."""
    global _shields
    before, _shields = _shields, 0
    try:
        _end_if_asked()
        yield
    finally:
        _shields = before


def _hear(_number: int, _frame: object) -> None:
    global _asked
    _asked = True
    _end_if_asked()


def _end_if_asked() -> None:
    if _asked and not _shields:
        raise Stopped

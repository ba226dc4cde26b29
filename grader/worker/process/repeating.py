"""Background lanes: repeated steps, and retries of database writes."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from grader import db
from grader.storage import disk

# This is longer than a restart of PostgreSQL takes, but shorter than the time left to a scoring job.
PATIENCE_SECONDS = 10.0
PAUSE_SECONDS = 0.5

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lane:
    """A repeated step and the pause after idle steps; the step returns whether it did anything.

    The step is skipped unless `is_due` returns true. This check is cheap and can be shared by several lanes.
    """

    name: str
    step: Callable[[], object]
    pause_seconds: float
    first_after_seconds: float = 0
    is_due: Callable[[], bool] = lambda: True


def start(lanes: Iterable[Lane], stop: threading.Event) -> list[threading.Thread]:
    """Start a daemon thread for each lane."""
    threads = [
        threading.Thread(target=_repeat, args=(lane, stop), name=lane.name, daemon=True) for lane in lanes
    ]
    for thread in threads:
        thread.start()
    return threads


def join(threads: Iterable[threading.Thread], seconds: float) -> None:
    """Wait at most `seconds` in total for all threads to end."""
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))


def run(lanes: Iterable[Lane], stop: threading.Event) -> None:
    """Run lanes until `stop` is set and their last steps have finished."""
    for thread in start(lanes, stop):
        thread.join()


def _repeat(lane: Lane, stop: threading.Event) -> None:
    stop.wait(lane.first_after_seconds)
    while not stop.is_set():
        try:
            has_done_something = lane.is_due() and lane.step()
        except Exception as error:  # a lane must not die unnoticed
            log_error(error, f"A step of the lane {lane.name} failed; the lane continues")
            has_done_something = False
        if not has_done_something:
            stop.wait(lane.pause_seconds)


def insist(write: Callable[[], T], *, patience_seconds: float = PATIENCE_SECONDS) -> T:
    """Return the result of `write`; retry while the database is unavailable or its disk is full.

    `write` must be idempotent because the effect of a COMMIT is unknown after the connection is lost.
    """
    end = time.monotonic() + patience_seconds
    is_told = False
    while True:
        try:
            return write()
        except Exception as error:
            if not (db.is_unavailable(error) or disk.is_full(error)) or time.monotonic() >= end:
                raise
            if not is_told:
                logger.warning("Writing to the database failed; retrying: %s", error)
                is_told = True
        time.sleep(PAUSE_SECONDS)


def log_error(error: Exception, message: str) -> None:
    """Log a handled error, without a traceback if the database is unavailable."""
    logger.error("%s: %s", message, error, exc_info=None if db.is_unavailable(error) else error)

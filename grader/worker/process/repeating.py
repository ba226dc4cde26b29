"""Repeated work: background lanes, and retries of database writes."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from grader import db
from grader.storage import disk

PATIENCE_SECONDS = 10.0  # longer than a restart of PostgreSQL, shorter than a scoring's remaining time limit
PAUSE_SECONDS = 0.5

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lane:
    """A step that returns whether it did something, and the pause after a failed or empty step."""

    name: str
    step: Callable[[], object]
    pause_seconds: float
    first_after_seconds: float = 0


def start(lanes: Iterable[Lane], stop: threading.Event) -> list[threading.Thread]:
    """Start a thread for each lane; no thread outlives the process."""
    threads = [
        threading.Thread(target=_repeat, args=(lane, stop), name=lane.name, daemon=True) for lane in lanes
    ]
    for thread in threads:
        thread.start()
    return threads


def join(threads: Iterable[threading.Thread], seconds: float) -> None:
    """Wait for the ends of threads, at most this long in total."""
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0, end - time.monotonic()))


def run(lanes: Iterable[Lane], stop: threading.Event) -> None:
    """Run lanes until `stop` is set and their last steps have ended."""
    for thread in start(lanes, stop):
        thread.join()


def _repeat(lane: Lane, stop: threading.Event) -> None:
    stop.wait(lane.first_after_seconds)
    while not stop.is_set():
        try:
            has_done_something = lane.step()
        except Exception as error:  # nobody would notice an ended lane
            log_error(error, f"The lane {lane.name} broke; it goes on")
            has_done_something = False
        if not has_done_something:
            stop.wait(lane.pause_seconds)


def insist(write: Callable[[], T], *, patience_seconds: float = PATIENCE_SECONDS) -> T:
    """Return the result of `write`; retry while the database or its disk is unavailable.

    `write` must be idempotent: after a lost connection the effect of a COMMIT is unknown.
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
                logger.warning("The database cannot be written at the moment; retrying: %s", error)
                is_told = True
        time.sleep(PAUSE_SECONDS)


def log_error(error: Exception, message: str) -> None:
    """Log an error that ends no process, without a traceback if the database is unavailable."""
    logger.error("%s: %s", message, error, exc_info=None if db.is_unavailable(error) else error)

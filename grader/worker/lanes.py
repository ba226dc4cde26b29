"""Lanes: background threads that repeat a step until they are told to stop."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from grader.worker.process.retrying import tell_of


@dataclass(frozen=True, slots=True)
class Lane:
    """A step that returns whether it did something, and the pause after one that did nothing or broke."""

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
    """Wait for the ends of threads, for at most so long altogether."""
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
        except Exception as error:  # nobody would miss a lane that ended
            tell_of(error, f"The lane {lane.name} broke; it goes on")
            has_done_something = False
        if not has_done_something:
            stop.wait(lane.pause_seconds)

"""Steps of the demo: which one runs, how many there are, and how long the rest takes."""

import time
from collections.abc import Callable, Iterable, Mapping

TRUSTED_SECONDS = 10.0  # of the first guess: this machine's pace counts as much after as long


class Steps:
    """Counts steps and estimates the time that is left.

    Parameters
    ----------
    seconds : mapping of str to float
        The steps in order, with how long each takes on two shared cores; this machine's pace corrects it.
    say : callable
        Takes a line.
    clock : callable, optional
        Returns seconds.
    """

    def __init__(
        self,
        seconds: Mapping[str, float],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = dict(seconds)
        self._names = list(seconds)
        self._say, self._clock = say, clock
        self._begun_at = clock()
        self._expected = 0.0  # seconds of the steps that ran so far
        self._running: str | None = None
        self._what, self._step_begun_at, self._left_then = "", self._begun_at, 0.0

    def wait(self) -> None:
        """Report that the running step continues; the remaining time never rises while a step runs."""
        later = self._names[self._names.index(str(self._running)) + 1 :]
        seconds = sum(self._seconds[each] for each in later)
        of_later = seconds / (seconds + self._seconds[str(self._running)])
        past = self._clock() - self._step_begun_at
        self._tell(
            max(self._left_then - past, of_later * self._left_then), f"{self._what} ({past:.0f} s so far)"
        )

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._begun_at

    def skip(self, names: Iterable[str]) -> None:
        """Leave steps out of the time that is left: an earlier start did them."""
        self._seconds |= dict.fromkeys(names, 0.0)

    def begin(self, name: str, what: str = "") -> None:
        """Report that a step starts, with the number of steps and the remaining time."""
        if self._running is not None:
            self._expected += self._seconds[self._running]
        self._running = name
        self._what, self._step_begun_at = what or name, self._clock()
        elapsed = self._step_begun_at - self._begun_at
        pace = (elapsed + TRUSTED_SECONDS) / (self._expected + TRUSTED_SECONDS)
        rest = self._names[self._names.index(name) :]
        self._left_then = pace * sum(self._seconds[each] for each in rest)
        self._tell(self._left_then, self._what)

    def _tell(self, left: float, what: str) -> None:
        number = self._names.index(str(self._running)) + 1
        self._say(f"[{number:2}/{len(self._names)}] about {max(1, round(left)):3} s left: {what}")

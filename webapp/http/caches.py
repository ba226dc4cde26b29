"""Per-process caches of pages, leaderboard charts and rescoring differences."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

from grader import counters
from grader.charts.frontier import Cloud, labeled
from grader.models import ScoringVersion
from grader.services.leaderboards.score_history import TermPoint, plot

T = TypeVar("T")
PAGE_SECONDS = 5.0


class Keep(Protocol):
    """A cache that returns the value of a key, computed by `make` if it is not kept or not fresh."""

    def __call__(self, key: Hashable, make: Callable[[], T], is_fresh: Callable[[T], bool] = ...) -> T:
        """Return the value of a key."""


class _Entry:
    """A value, the time at which it was ready, and the lock under which it is computed once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value: tuple[Any] | None = None
        self.since = 0.0


class Recent:
    """The most recently used values; concurrent callers wait for one computation of a value."""

    def __init__(self, count: int, *, seconds: float = float("inf")) -> None:
        self.seconds = seconds
        self._count, self._lock = count, threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(
        self, key: Hashable, make: Callable[[], T], is_fresh: Callable[[T], bool] = lambda _value: True
    ) -> T:
        """Return the value of a key, computed by `make` if it is missing, too old or not fresh."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self._count:
                self._entries.popitem(last=False)
        with entry.lock:
            kept = entry.value if time.monotonic() - entry.since < self.seconds else None
            is_hit = kept is not None and is_fresh(kept[0])
            counters.CACHES.add("leaderboards", "hit" if is_hit else "miss")
            if not is_hit:
                entry.value = (make(),)
                entry.since = time.monotonic()
            value: T = entry.value[0]  # type: ignore[index]
        return value


@dataclass
class Frontier:
    """The points of a leaderboard in rank order, and their scatter plot."""

    points: Sequence[TermPoint]
    cloud: Cloud

    @cached_property
    def _places(self) -> dict[int, int]:
        return {point.team_id: place for place, point in enumerate(self.points)}

    def place_of(self, team_id: int | None) -> int | None:
        """Return the index of a team's point."""
        return None if team_id is None else self._places.get(team_id)

    def named(self, own_team_id: int | None) -> list[int]:
        """Return the indexes of the labeled points."""
        return labeled(self.cloud, self.place_of(own_team_id))


def frontier(points: Sequence[TermPoint], version: ScoringVersion) -> Frontier | None:
    """Return the scatter plot of a leaderboard, or None if there are no teams."""
    drawn = plot(points, version)
    return None if drawn is None else Frontier(points, drawn)

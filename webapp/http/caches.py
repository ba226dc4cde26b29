"""Per-process caches: leaderboard charts and rescoring differences."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from grader.charts.frontier import Cloud, labeled
from grader.models import Competition, ScoringVersion
from grader.services.leaderboards.score_history import TermPoint, plot
from grader.services.rescoring import difference
from grader.services.rescoring.difference import Compared, Preview


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


MOST_KEPT = 4  # each takes about 20 MB with 10,000 teams


class Differences:
    """Cache of recently used previews."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], tuple[str, Preview]] = OrderedDict()

    def preview(self, session: Any, *, competition: Competition, versions: Compared) -> Preview:
        """Return the cached or newly computed difference between two versions.

        Concurrent callers wait for one computation.
        """
        key = versions.before.id, versions.after.id
        with self._lock:
            state = difference.state(session, competition=competition, versions=versions)
            kept_state, found = self._kept.pop(key, ("", None))
            if found is None or kept_state != state:
                found = difference.preview(session, competition=competition, versions=versions)
            self._kept[key] = state, found
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return replace(found, versions=versions)

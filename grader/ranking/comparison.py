"""Comparison of two scoring versions: changes of scores and of ranks.

`selection.compute` returns the leaderboards of both, from the same submissions, selections and
disqualifications, so every difference comes from the scores. Before the close, the private leaderboard is the
one that would result if the competition closed now.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from grader.ranking.order import Scale, TeamEntry
from grader.ranking.selection import Boards, Scored, Split

# The scales of the scores before and after.
Scales = tuple[Scale, Scale]


class ScorePair(NamedTuple):
    """The displayed scores of one submission under both scoring versions; at least one of them is set."""

    before: Scored | None
    after: Scored | None

    @property
    def known(self) -> Scored:
        """The submission as scored under either version."""
        return next(filter(None, (self.after, self.before)))

    def changes(self, scales: Scales) -> tuple[Decimal, ...]:
        """Return the changes of the displayed public and private score; empty if a side is missing."""
        if self.before is None or self.after is None:
            return ()
        old, new = scales
        return (
            new.exact(self.after.public_units) - old.exact(self.before.public_units),
            new.exact(self.after.private_units) - old.exact(self.before.private_units),
        )


@dataclass(frozen=True, slots=True)
class TeamChange:
    """A team's rank and entry on one leaderboard under both scoring versions; None where it is missing."""

    team_id: int
    rank_before: int | None
    before: TeamEntry | None
    rank_after: int | None
    after: TeamEntry | None


@dataclass(frozen=True, slots=True)
class BoardChange:
    """One leaderboard under both scoring versions.

    Attributes
    ----------
    teams : tuple of TeamChange
        In the order of the new ranks, followed by the teams that left the leaderboard, by their old ranks.
    """

    teams: tuple[TeamChange, ...]

    @property
    def moved(self) -> tuple[TeamChange, ...]:
        """The teams whose rank changes or that enter or leave the leaderboard."""
        return tuple(team for team in self.teams if team.rank_before != team.rank_after)

    @property
    def leaders(self) -> tuple[int | None, int | None]:
        """The ids of the first teams before and after the change."""
        before = (team.team_id for team in self.teams if team.rank_before == 1)
        after = (team.team_id for team in self.teams if team.rank_after == 1)
        return next(before, None), next(after, None)


def compare(before: Boards, after: Boards) -> dict[tuple[str, Split], BoardChange]:
    """Return the changes of each leaderboard."""
    return {
        key: _change(before.rankings.get(key, ()), after.rankings.get(key, ()))
        for key in {**after.rankings, **before.rankings}
    }


def _change(*sides: Iterable[TeamEntry]) -> BoardChange:
    old, new = ({each.team_id: (rank, each) for rank, each in enumerate(side, 1)} for side in sides)
    missing = None, None
    return BoardChange(
        tuple(TeamChange(each, *old.get(each, missing), *new.get(each, missing)) for each in new | old)
    )

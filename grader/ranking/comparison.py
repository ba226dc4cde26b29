"""Comparison of two rankings: score changes, rank changes, selections.

The same function computes both rankings from the same submissions, selections and disqualifications, so every
difference comes from the scores. Before the close, the private leaderboard is the one that would result if
the competition closed now.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from grader.ranking import selection
from grader.ranking.order import AUTOMATIC_SELECTION_COUNT, SCALE, Scale, TeamEntry
from grader.ranking.selection import Ranking, Scored

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


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """All changes from one scoring version to another.

    Attributes
    ----------
    boards : mapping of str to tuple of BoardChange
        The changes of the public and private side of the main leaderboard and of each named one.
    selections : tuple of int
        The ids of the teams for which other submissions compete on the private leaderboard. Selected
        submissions are kept, but the remaining slots are filled by public score.
    scored_before, scored_after, changed : int
        The numbers of submissions with scores under each version, and the number of those whose displayed
        score changes.
    largest : Decimal
        The size of the largest change of a displayed score on either split.
    """

    boards: Mapping[str, tuple[BoardChange, BoardChange]]
    selections: tuple[int, ...]
    scored_before: int
    scored_after: int
    changed: int
    largest: Decimal

    @property
    def is_nothing(self) -> bool:
        """Whether every displayed score, rank and selection stays."""
        moved = any(each.moved for board in self.boards.values() for each in board)
        return not (moved or self.changed or self.selections or self.scored_before != self.scored_after)


def compare(
    pairs: Collection[ScorePair],
    *,
    scales: Scales = (SCALE, SCALE),
    disqualified: Collection[int] = (),
    selection_count: int = AUTOMATIC_SELECTION_COUNT,
) -> VersionDifference:
    """Compare two scoring versions.

    Parameters
    ----------
    pairs : collection of ScorePair
        Every submission with scores under either version, in any order, including unranked submissions.
    scales : tuple of Scale
        The scales of the scores before and after.
    disqualified : collection of int
        Ids of the teams to exclude from the leaderboards.
    selection_count : int
        Number of a team's submissions that compete on the private leaderboard.
    """
    scored = [pair.before for pair in pairs if pair.before], [pair.after for pair in pairs if pair.after]
    before, after = (
        selection.compute(each, disqualified=disqualified, selection_count=selection_count) for each in scored
    )
    sizes = [max(map(abs, changes)) for pair in pairs if (changes := pair.changes(scales))]
    boards = {}
    for board in sorted(before.rankings.keys() | after.rankings.keys()):
        old, new = before.rankings.get(board, Ranking()), after.rankings.get(board, Ranking())
        boards[board] = _board_change(old.public, new.public), _board_change(old.private, new.private)
    teams = sorted(before.choices.keys() | after.choices.keys())
    return VersionDifference(
        boards=boards,
        selections=tuple(team for team in teams if before.choices.get(team) != after.choices.get(team)),
        scored_before=len(scored[0]),
        scored_after=len(scored[1]),
        changed=sum(size > 0 for size in sizes),
        largest=max(sizes, default=Decimal(0)),
    )


def _board_change(*sides: Iterable[TeamEntry]) -> BoardChange:
    old, new = ({each.team_id: (rank, each) for rank, each in enumerate(side, 1)} for side in sides)
    missing = None, None
    return BoardChange(
        tuple(TeamChange(each, *old.get(each, missing), *new.get(each, missing)) for each in new | old)
    )

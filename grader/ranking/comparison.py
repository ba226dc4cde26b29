"""Comparison of two rankings: score changes, rank changes, top k, selections.

The same function computes both rankings from the same submissions, selections and disqualifications, so every
difference comes from the scores. Before the close, the private leaderboard is the one that would result if
the competition closed now.
"""

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from grader.ranking import selection
from grader.ranking.order import AUTOMATIC_SELECTION_COUNT, RankedEntry
from grader.ranking.selection import Boards, Ranking, Scored


@dataclass(frozen=True, slots=True)
class ScorePair:
    """One submission under both scoring versions.

    Attributes
    ----------
    before, after : Scored or None
        The displayed scores of the submission, or None if it has none.
    sign : int
        -1 if the versions differ in whether the lowest score is the best, or else 1.
    """

    before: Scored | None
    after: Scored | None
    sign: int = 1

    @property
    def known(self) -> Scored:
        """The submission as scored under either version.

        Raises
        ------
        ValueError
            If it has no scores under either version.
        """
        known = self.after or self.before
        if known is None:
            raise ValueError("A submission without scores cannot be compared.")
        return known

    @property
    def changes(self) -> tuple[int, int] | tuple[None, None]:
        """The changes of the displayed public and private score in units; None if a side is missing."""
        old, new = self.before, self.after
        if old is None or new is None:
            return None, None
        sign = self.sign
        return new.public_units - sign * old.public_units, new.private_units - sign * old.private_units


@dataclass(frozen=True, slots=True)
class TeamChange:
    """A team's standings on one leaderboard under both scoring versions; None where it is missing."""

    team_id: int
    before: RankedEntry | None
    after: RankedEntry | None
    sign: int = 1

    @property
    def rank_change(self) -> int | None:
        """The number of ranks gained, or None if the team is missing under one version."""
        if self.before is None or self.after is None:
            return None
        return self.before.rank - self.after.rank

    @property
    def score_change(self) -> int | None:
        """The change of the displayed score in units, or None if one is missing."""
        if self.before is None or self.after is None:
            return None
        return self.after.entry.score_units - self.sign * self.before.entry.score_units


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
        return tuple(team for team in self.teams if team.rank_change != 0)

    @property
    def changed(self) -> tuple[TeamChange, ...]:
        """The teams whose rank or displayed score changes."""
        return tuple(team for team in self.teams if team.rank_change != 0 or team.score_change)

    @property
    def leaders(self) -> tuple[int | None, int | None]:
        """The ids of the first teams before and after the change."""
        before = (team.team_id for team in self.teams if team.before and team.before.rank == 1)
        after = (team.team_id for team in self.teams if team.after and team.after.rank == 1)
        return next(before, None), next(after, None)


class BoardChanges(NamedTuple):
    """The changes of one leaderboard on both splits."""

    public: BoardChange
    private: BoardChange


@dataclass(frozen=True, slots=True)
class SelectionChange:
    """A team for which other submissions compete on the private leaderboard.

    Selected submissions are kept, but the remaining slots are filled by public score, which changes.

    Attributes
    ----------
    entering, leaving : tuple of int
        Ids of the submissions that start to compete, and of those that no longer compete.
    """

    team_id: int
    entering: tuple[int, ...]
    leaving: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """All changes from one scoring version to another.

    Attributes
    ----------
    boards : mapping of str to BoardChanges
        The changes of the main leaderboard and of each named one.
    selections : tuple of SelectionChange
        Changes for the teams on the leaderboards, by team id.
    scored_before, scored_after, changed : int
        The numbers of submissions with scores under each version, and the number of those whose displayed
        score changes.
    largest : tuple of ScorePair
        The submissions with the largest changes of a displayed score on either split, largest first.
    """

    boards: Mapping[str, BoardChanges]
    selections: tuple[SelectionChange, ...]
    scored_before: int
    scored_after: int
    changed: int
    largest: tuple[ScorePair, ...]

    @property
    def is_nothing(self) -> bool:
        """Whether every displayed score, rank and selection stays."""
        moved = any(each.moved for board in self.boards.values() for each in board)
        return not (moved or self.changed or self.selections or self.scored_before != self.scored_after)


def compare(
    pairs: Iterable[ScorePair],
    *,
    disqualified: Collection[int] = (),
    selection_count: int = AUTOMATIC_SELECTION_COUNT,
    largest_count: int = 20,
) -> VersionDifference:
    """Compare two scoring versions.

    Parameters
    ----------
    pairs : iterable of ScorePair
        Every submission with scores under either version, in any order, including unranked submissions.
    disqualified : collection of int
        Ids of the teams to exclude from the leaderboards.
    selection_count : int
        Number of a team's submissions that compete on the private leaderboard.
    largest_count : int
        The number of largest score changes to return.
    """
    everything = list(pairs)
    before, after = (
        selection.compute(filter(None, scored), disqualified=disqualified, selection_count=selection_count)
        for scored in ([pair.before for pair in everything], [pair.after for pair in everything])
    )
    sizes = [(max(abs(change or 0) for change in pair.changes), pair) for pair in everything]
    changed = [(size, -pair.known.submission_id, pair) for size, pair in sizes if size]
    sign = everything[0].sign if everything else 1
    return VersionDifference(
        boards={
            board: _board_changes(
                before.rankings.get(board, Ranking()),
                after.rankings.get(board, Ranking()),
                1 if board else sign,
            )
            for board in sorted(before.rankings.keys() | after.rankings.keys())
        },
        selections=_selection_changes(before, after),
        scored_before=sum(pair.before is not None for pair in everything),
        scored_after=sum(pair.after is not None for pair in everything),
        changed=len(changed),
        largest=tuple(pair for *_, pair in heapq.nlargest(largest_count, changed, key=itemgetter(0, 1))),
    )


def _board_changes(before: Ranking, after: Ranking, sign: int) -> BoardChanges:
    return BoardChanges(*(_board_change(*lines, sign) for lines in zip(before, after, strict=True)))


def _board_change(before: Iterable[RankedEntry], after: Iterable[RankedEntry], sign: int) -> BoardChange:
    left = {line.entry.team_id: line for line in before}
    teams = [TeamChange(line.entry.team_id, left.pop(line.entry.team_id, None), line, sign) for line in after]
    teams += [TeamChange(team_id, line, None, sign) for team_id, line in left.items()]
    return BoardChange(tuple(teams))


def _selection_changes(before: Boards, after: Boards) -> tuple[SelectionChange, ...]:
    changes: list[SelectionChange] = []
    for team_id in sorted(before.choices.keys() | after.choices.keys()):
        old, new = (
            {choice.submission_id for choice in boards.choices.get(team_id, ())} for boards in (before, after)
        )
        if old != new:
            changes.append(SelectionChange(team_id, tuple(sorted(new - old)), tuple(sorted(old - new))))
    return tuple(changes)

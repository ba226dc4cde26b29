"""Comparison of two rankings: score changes, rank changes, top k, selections.

The same function computes both rankings from the same submissions, selections and disqualifications, so every
difference comes from the scores. Before the close, the private leaderboard is the one that would result if
the competition closed now.
"""

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

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
    def public_change(self) -> int | None:
        """The change of the displayed public score in units, or None if one is missing."""
        if self.before is None or self.after is None:
            return None
        return self.after.public_units - self.sign * self.before.public_units

    @property
    def private_change(self) -> int | None:
        """The change of the displayed private score in units, or None if one is missing."""
        if self.before is None or self.after is None:
            return None
        return self.after.private_units - self.sign * self.before.private_units


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

    @property
    def is_other_submission(self) -> bool:
        """Whether a different submission represents the team."""
        return (
            self.before is not None
            and self.after is not None
            and self.before.entry.submission_id != self.after.entry.submission_id
        )


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

    def entering(self, top: int) -> tuple[TeamChange, ...]:
        """Return the teams that enter the top `top` with the change."""
        return tuple(team for team in self.teams if _is_in(team.after, top) and not _is_in(team.before, top))

    def leaving(self, top: int) -> tuple[TeamChange, ...]:
        """Return the teams that leave the top `top` with the change."""
        return tuple(team for team in self.teams if _is_in(team.before, top) and not _is_in(team.after, top))

    def most_moved(self, count: int) -> list[TeamChange]:
        """Return the `count` teams with the largest rank changes in either direction, largest first."""
        moves = [(abs(change), team) for team in self.teams if (change := team.rank_change)]
        return [team for _, team in heapq.nlargest(count, moves, key=lambda move: move[0])]


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
    public, private : BoardChange
    selections : tuple of SelectionChange
        Changes for the teams on the leaderboards, by team id.
    scored_before, scored_after, changed : int
        The numbers of submissions with scores under each version, and the number of those whose displayed
        score changes.
    largest : tuple of ScorePair
        The submissions with the largest changes of a displayed score on either split, largest first.
    named : mapping of str to (BoardChange, BoardChange)
        The public and the private changes of each named leaderboard.
    """

    public: BoardChange
    private: BoardChange
    selections: tuple[SelectionChange, ...]
    scored_before: int
    scored_after: int
    changed: int
    largest: tuple[ScorePair, ...]
    named: Mapping[str, tuple[BoardChange, BoardChange]] = field(default_factory=dict)


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
        selection.compute(scored, disqualified=disqualified, selection_count=selection_count)
        for scored in (
            (pair.before for pair in everything if pair.before is not None),
            (pair.after for pair in everything if pair.after is not None),
        )
    )
    changed = [(_largest_change(pair), pair) for pair in everything]
    sign = everything[0].sign if everything else 1
    return VersionDifference(
        public=_board_change(before.public, after.public, sign),
        private=_board_change(before.private, after.private, sign),
        selections=_selection_changes(before, after),
        scored_before=sum(pair.before is not None for pair in everything),
        scored_after=sum(pair.after is not None for pair in everything),
        changed=sum(change > 0 for change, _ in changed),
        largest=tuple(
            pair
            for change, pair in heapq.nlargest(
                largest_count, changed, key=lambda each: (each[0], -each[1].known.submission_id)
            )
            if change
        ),
        named={
            board: _named_change(before.named.get(board, Ranking()), after.named.get(board, Ranking()))
            for board in sorted(before.named.keys() | after.named.keys())
        },
    )


def _largest_change(pair: ScorePair) -> int:
    return max(abs(pair.public_change or 0), abs(pair.private_change or 0))


def _named_change(before: Ranking, after: Ranking) -> tuple[BoardChange, BoardChange]:
    return _board_change(before.public, after.public), _board_change(before.private, after.private)


def _board_change(before: Iterable[RankedEntry], after: Iterable[RankedEntry], sign: int = 1) -> BoardChange:
    left = {line.entry.team_id: line for line in before}
    teams = [TeamChange(line.entry.team_id, left.pop(line.entry.team_id, None), line, sign) for line in after]
    teams += [TeamChange(team_id, line, None, sign) for team_id, line in left.items()]
    return BoardChange(tuple(teams))


def _selection_changes(before: Boards, after: Boards) -> tuple[SelectionChange, ...]:
    changes: list[SelectionChange] = []
    for team_id in sorted(before.choices.keys() | after.choices.keys()):
        old, new = _chosen(before.choices, team_id), _chosen(after.choices, team_id)
        if old != new:
            changes.append(SelectionChange(team_id, tuple(sorted(new - old)), tuple(sorted(old - new))))
    return tuple(changes)


def _chosen(choices: Mapping[int, tuple[selection.Competitor, ...]], team_id: int) -> set[int]:
    return {choice.submission_id for choice in choices.get(team_id, ())}


def _is_in(line: RankedEntry | None, top: int) -> bool:
    return line is not None and line.rank <= top

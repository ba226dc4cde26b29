"""Competing submissions of each team that is not disqualified, and leaderboards computed from them.

These functions define every number on a leaderboard. The database stores each team's entry as a row, so a
page need not compute 10,000 entries. After random histories, tests compare these rows with the results of the
functions.
"""

import enum
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from grader.ranking import order
from grader.ranking.order import AUTOMATIC_SELECTION_COUNT, TeamEntry

MAIN_BOARD = ""


class Split(enum.StrEnum):
    """The splits used for scoring."""

    PUBLIC = "public"
    PRIVATE = "private"


class SubmissionKind(enum.StrEnum):
    """Kinds of submissions; only `normal` ones are ranked, but all are scored.

    `late` submissions arrive after the reveal, `benchmark` ones are shown without a rank, and `hidden` ones
    are visible only to organizers.
    """

    NORMAL = "normal"
    LATE = "late"
    BENCHMARK = "benchmark"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class Scored:
    """A submission with its scores under one scoring version.

    Attributes
    ----------
    submission_id, team_id : int
        Ids of the submission and of its current team, which a merger can change.
    submitted_at : datetime
        The time at which the file was accepted.
    public_units, private_units : int
        The exact scores in units of the scale of the scoring version.
    kind : SubmissionKind
        The kind, which determines whether the submission is ranked.
    is_selected : bool
        Whether its team selected it for the private leaderboard.
    shown_units : int or None
        The public score as the feedback mode displays it, or None if hidden. The public leaderboard uses only
        this score; the automatic selection uses `public_units`.
    named : mapping of str to (int or None, int or None)
        For each named leaderboard, the public and the private value in units of its scale, or None if it is
        undefined.
    """

    submission_id: int
    team_id: int
    submitted_at: datetime
    public_units: int
    private_units: int
    kind: SubmissionKind = SubmissionKind.NORMAL
    is_selected: bool = False
    shown_units: int | None = field(kw_only=True)
    named: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict, kw_only=True)

    def on(self, board: str, split: Split) -> TeamEntry | None:
        """Return the submission's entry for a leaderboard, or None if its value is hidden or undefined."""
        own = self.shown_units, self.private_units
        public, private = self.named.get(board, (None, None)) if board else own
        units = private if split is Split.PRIVATE else public
        return (
            None if units is None else TeamEntry(self.team_id, self.submission_id, units, self.submitted_at)
        )


@dataclass(frozen=True, slots=True)
class Boards:
    """All leaderboards of a competition.

    Attributes
    ----------
    rankings : mapping of (str, Split) to tuple of TeamEntry
        The best entry of each team, best first, on the main leaderboard and the named ones.
    choices : mapping of int to frozenset of int
        Ids of the submissions that compete on the private leaderboards, by team id.
    """

    rankings: Mapping[tuple[str, Split], tuple[TeamEntry, ...]]
    choices: Mapping[int, frozenset[int]]


def compute(
    scored: Iterable[Scored],
    *,
    disqualified: Collection[int] = (),
    selection_count: int = AUTOMATIC_SELECTION_COUNT,
) -> Boards:
    """Compute all leaderboards.

    A team is represented by its best submission on each leaderboard. On every private leaderboard, the same
    submissions compete, which the team selected or which have the best public scores.

    Parameters
    ----------
    scored : iterable of Scored
        The scored submissions, in any order.
    disqualified : collection of int
        Ids of the teams to exclude from the leaderboards; the other teams move up.
    selection_count : int
        Number of a team's submissions that compete on the private leaderboard.

    Returns
    -------
    Boards
        The best entry of each team among its normal submissions, ranked.
    """
    teams: dict[int, list[Scored]] = defaultdict(list)
    for each in scored:
        if each.kind is SubmissionKind.NORMAL and each.team_id not in disqualified:
            teams[each.team_id].append(each)
    choices = {team_id: choose(own, selection_count=selection_count) for team_id, own in teams.items()}
    ranked = list(chain.from_iterable(teams.values()))
    competing = [each for each in ranked if each.submission_id in choices[each.team_id]]
    rankings = {
        (board, split): order.rank(entry for each in submissions if (entry := each.on(board, split)))
        for board in sorted({MAIN_BOARD, *chain.from_iterable(each.named for each in ranked)})
        for split, submissions in ((Split.PUBLIC, ranked), (Split.PRIVATE, competing))
    }
    return Boards(rankings, choices)


def choose(own: Iterable[Scored], *, selection_count: int = AUTOMATIC_SELECTION_COUNT) -> frozenset[int]:
    """Return the ids of the normal submissions of one team that compete on the private leaderboard."""
    ranking = [each for each in own if each.kind is SubmissionKind.NORMAL]
    picked = [each.submission_id for each in ranking if each.is_selected]
    entries = [
        TeamEntry(each.team_id, each.submission_id, each.public_units, each.submitted_at) for each in ranking
    ]
    return frozenset(order.select_automatically(entries, picked=picked, count=selection_count))

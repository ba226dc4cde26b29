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

from grader.ranking import order
from grader.ranking.order import AUTOMATIC_SELECTION_COUNT, RankedEntry, TeamEntry


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
        The scores in units of 0.00001.
    kind : SubmissionKind
        The kind, which determines whether the submission is ranked.
    is_selected : bool
        Whether its team selected it for the private leaderboard.
    shown_units : int or None
        The public score as the feedback mode displays it, or None if hidden. The public leaderboard uses only
        this score; the automatic selection uses `public_units`.
    """

    submission_id: int
    team_id: int
    submitted_at: datetime
    public_units: int
    private_units: int
    kind: SubmissionKind = SubmissionKind.NORMAL
    is_selected: bool = False
    shown_units: int | None = field(kw_only=True)

    @property
    def public(self) -> TeamEntry | None:
        """The submission's entry for the public leaderboard, or None if its score is hidden."""
        if self.shown_units is None:
            return None
        return TeamEntry(self.team_id, self.submission_id, self.shown_units, self.submitted_at)

    @property
    def private(self) -> TeamEntry:
        """The submission's entry for the private leaderboard."""
        return TeamEntry(self.team_id, self.submission_id, self.private_units, self.submitted_at)


@dataclass(frozen=True, slots=True)
class Competitor:
    """A submission that competes on the private leaderboard, and whether its team selected it."""

    submission_id: int
    is_picked: bool


@dataclass(frozen=True, slots=True)
class Boards:
    """Both leaderboards of a competition.

    Attributes
    ----------
    public, private : tuple of Standing
        Standings, best first.
    choices : mapping of int to tuple of Choice
        Submissions that compete on the private leaderboard, by team id.
    """

    public: tuple[RankedEntry, ...]
    private: tuple[RankedEntry, ...]
    choices: Mapping[int, tuple[Competitor, ...]]


def compute(
    scored: Iterable[Scored],
    *,
    disqualified: Collection[int] = (),
    selection_count: int = AUTOMATIC_SELECTION_COUNT,
) -> Boards:
    """Compute both leaderboards.

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
    teams = _by_team(scored, disqualified)
    choices = {team_id: choose(own, selection_count=selection_count) for team_id, own in teams.items()}
    public = (order.best(_public(own)) for own in teams.values())
    private = (
        order.private_entry(
            (each.private for each in own), [choice.submission_id for choice in choices[team_id]]
        )
        for team_id, own in teams.items()
    )
    return Boards(
        public=tuple(order.rank(entry for entry in public if entry)),
        private=tuple(order.rank(entry for entry in private if entry)),
        choices=choices,
    )


def choose(
    own: Iterable[Scored], *, selection_count: int = AUTOMATIC_SELECTION_COUNT
) -> tuple[Competitor, ...]:
    """Return the normal submissions of one team that compete on the private leaderboard."""
    ranking = [each for each in own if each.kind is SubmissionKind.NORMAL]
    picked = {each.submission_id for each in ranking if each.is_selected}
    entries = [
        TeamEntry(each.team_id, each.submission_id, each.public_units, each.submitted_at) for each in ranking
    ]
    chosen = order.select_automatically(entries, picked=sorted(picked), count=selection_count)
    return tuple(Competitor(submission_id, submission_id in picked) for submission_id in chosen)


def ranks_at(
    scored: Iterable[Scored], moment: datetime, *, disqualified: Collection[int] = ()
) -> dict[int, int]:
    """Return the public rank of each team, considering only files accepted before `moment`."""
    teams = _by_team((each for each in scored if each.submitted_at < moment), disqualified)
    entries = (order.best(_public(own)) for own in teams.values())
    return {line.entry.team_id: line.rank for line in order.rank(entry for entry in entries if entry)}


def place(entry: TeamEntry, board: Iterable[RankedEntry]) -> int:
    """Return the rank that an entry has, or would have, among the other teams on a leaderboard."""
    own = order.order(entry)
    return 1 + sum(order.order(line.entry) < own for line in board if line.entry.team_id != entry.team_id)


def best_unselected(own: Iterable[Scored], choices: Iterable[Competitor]) -> TeamEntry | None:
    """Return a team's best private entry among the submissions that did not compete, or None."""
    chosen = {choice.submission_id for choice in choices}
    return order.best(
        each.private
        for each in own
        if each.kind is SubmissionKind.NORMAL and each.submission_id not in chosen
    )


def improvements(entries: Iterable[TeamEntry]) -> list[TeamEntry]:
    """Return the entries of one team that improved its best score when they arrived, oldest first."""
    steps: list[TeamEntry] = []
    for entry in sorted(entries, key=lambda each: (each.submitted_at, each.submission_id)):
        if not steps or entry.score_units > steps[-1].score_units:
            steps.append(entry)
    return steps


def _public(own: Iterable[Scored]) -> list[TeamEntry]:
    return [entry for each in own if (entry := each.public) is not None]


def _by_team(scored: Iterable[Scored], disqualified: Collection[int]) -> dict[int, list[Scored]]:
    excluded = frozenset(disqualified)
    teams: dict[int, list[Scored]] = defaultdict(list)
    for each in scored:
        if each.kind is SubmissionKind.NORMAL and each.team_id not in excluded:
            teams[each.team_id].append(each)
    return teams

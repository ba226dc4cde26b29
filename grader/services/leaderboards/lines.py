"""Leaderboard rows: columns, unranked benchmarks, search and sorting."""

import enum
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Result, Select, Subquery, case, func, null, select
from sqlalchemy.orm import Session, defer

from fairboard.interface import Direction
from grader.metrics.boards import BoardRule
from grader.models import (
    STANDING_ORDER,
    Competition,
    Score,
    ScoringVersion,
    Split,
    Standing,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
    TeamMember,
    User,
)
from grader.ranking import order
from grader.ranking.order import Scale, TeamEntry
from grader.services.competitions import boards, team_names
from grader.services.competitions.metric import of_version
from grader.services.leaderboards import shown_scores
from grader.services.leaderboards.ranks import Standings
from grader.services.leaderboards.snapshots import NOTHING_KEPT, Snapshot
from grader.text import folded, one_line
from grader.visibility import Feedback, Viewer

MAX_PARAMETERS = 5_000  # per query
NAME_MAX_LENGTH = 64
MAX_COUNT = 50


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One row of a leaderboard with rounded values.

    `terms` is empty if the viewer may not see them. `rank` is None for a benchmark. `rank_change` is the
    number of ranks gained from the public leaderboard; it is None on that leaderboard and for a new team.
    `errors` are the standard errors of the exact score and the visible terms. `alias` is the name that other
    teams see instead of `team`, or empty if they see the same.
    """

    rank: int | None
    team_id: int
    team: str
    members: tuple[str, ...]
    submission_id: int
    score: str
    score_units: int
    terms: Mapping[str, float]
    entry_count: int
    last_submitted_at: datetime
    rank_change: int | None = None
    errors: Mapping[str, float] = field(default_factory=dict)
    division: str | None = None
    alias: str = ""

    @property
    def is_benchmark(self) -> bool:
        """Whether the row is shown for comparison and has no rank."""
        return self.rank is None


def load(
    standings: Standings,
    *,
    version: ScoringVersion,
    ranks: Mapping[int, int],
    terms: Sequence[str],
    scale: Scale,
    rule: BoardRule | None = None,
    has_errors: bool = False,
    viewer: Viewer = Viewer.PUBLIC,
) -> dict[int, ShownRow]:
    """Return the rows of teams whose ranks are known, in the same number of queries for every page.

    Terms other than `terms`, which the viewer may see, are not read. Only exact scores have standard errors.
    """
    rows: dict[int, ShownRow] = {}
    team_ids = list(ranks)
    for first in range(0, max(1, len(team_ids)), MAX_PARAMETERS):
        part = team_ids[first : first + MAX_PARAMETERS]
        before = public_ranks(standings, part)
        known = {team_id: ranks[team_id] for team_id in part}
        rows |= _load_part(
            standings, version, known, terms, before, scale, rule, viewer, has_errors=has_errors
        )
    return rows


def _load_part(
    standings: Standings,
    version: ScoringVersion,
    ranks: Mapping[int, int],
    terms: Sequence[str],
    before: Mapping[int, int],
    scale: Scale,
    rule: BoardRule | None,
    viewer: Viewer,
    *,
    has_errors: bool,
) -> dict[int, ShownRow]:
    session = standings.session
    competition = session.get_one(Competition, version.competition_id)
    are_hidden = team_names.are_hidden(competition, viewer)
    has_alias = competition.is_anonymous and not are_hidden
    query = (
        select(
            Standing.team_id,
            Standing.submission_id,
            Standing.score_units,
            Team.division,
            team_names.column(competition, viewer).label("name"),
            *([Team.alias] if has_alias else []),
            *([Score.errors] if has_errors else []),
            *([Score.terms] if terms else []),
        )
        .join(Team, Team.id == Standing.team_id)
        .join(Score, Score.submission_id == Standing.submission_id)
        .where(
            *standings.rows,
            Standing.team_id.in_(list(ranks)),
            Score.scoring_version_id == version.id,
            Score.split == standings.split,
        )
    )
    lines = session.execute(query)
    members = defaultdict[int, list[str]](list) if are_hidden else members_of(session, list(ranks))
    done = _activity(session, list(ranks))
    decimals = term_decimals(version)
    return {
        line.team_id: ShownRow(
            rank=ranks[line.team_id],
            team_id=line.team_id,
            team=line.name,
            members=tuple(members[line.team_id]),
            submission_id=line.submission_id,
            score=scale.text(line.score_units),
            score_units=line.score_units,
            terms=rounded_terms(line.terms, terms, decimals) if terms else {},
            entry_count=done[line.team_id][0],
            last_submitted_at=done[line.team_id][1],
            rank_change=_change(before.get(line.team_id), ranks[line.team_id]),
            errors=_errors_on(rule, shown_errors(line.errors, terms)) if has_errors else {},
            division=line.division,
            alias=line.alias if has_alias else "",
        )
        for line in lines
    }


def term_decimals(version: ScoringVersion) -> int:
    """Return the number of displayed decimals of a term."""
    return of_version(version).describe().decimals_of_terms


def rounded_terms(values: Mapping[str, float], names: Sequence[str], decimals: int) -> dict[str, float]:
    """Return rounded terms of a score in the given order; a term that the score does not have is left out."""
    return {name: float(order.round_half_even(values[name], decimals)) for name in names if name in values}


def shown_errors(errors: Mapping[str, float] | None, terms: Collection[str]) -> dict[str, float]:
    """Return the standard errors of the score and these terms, to two digits."""
    shown = {name: error for name, error in (errors or {}).items() if name in ("score", *terms)}
    return {name: float(f"{error:.2g}") for name, error in shown.items()}


def _errors_on(rule: BoardRule | None, errors: dict[str, float]) -> dict[str, float]:
    """Return the errors with that of the value of a named leaderboard as `score`; a sum has none."""
    if rule is None:
        return errors
    own = errors.get(rule.single.name) if rule.single else None
    rest = {name: error for name, error in errors.items() if name != "score"}
    return rest if own is None else {"score": own, **rest}


def public_ranks(standings: Standings, team_ids: Collection[int] | None = None) -> dict[int, int]:
    """Return the public ranks with which a private leaderboard compares; empty for a public one."""
    return {} if standings.split is Split.PUBLIC else replace(standings, split=Split.PUBLIC).ranks(team_ids)


def activity(condition: ColumnElement[bool]) -> Subquery:
    """Return a subquery of each team's number of scored entries and the time of the last one."""
    return (
        select(
            Submission.team_id,
            func.count().label("entry_count"),
            func.max(Submission.submitted_at).label("last_submitted_at"),
        )
        .where(
            Submission.status == SubmissionStatus.SCORED,
            Submission.kind == SubmissionKind.NORMAL,
            condition,
        )
        .group_by(Submission.team_id)
        .subquery()
    )


def _change(before: int | None, rank: int) -> int | None:
    return None if before is None else before - rank


def members_of(session: Session, team_ids: Collection[int]) -> dict[int, list[str]]:
    """Return the names of teams' members in the order in which they joined."""
    members: dict[int, list[str]] = defaultdict(list)
    query = (
        select(TeamMember.team_id, User.name)
        .join(User, User.id == TeamMember.user_id)
        .where(TeamMember.team_id.in_(team_ids))
        .order_by(TeamMember.joined_at, TeamMember.id)
    )
    for team_id, name in session.execute(query):
        members[team_id].append(name)
    return members


def _activity(session: Session, team_ids: Collection[int]) -> dict[int, tuple[int, datetime]]:
    query = select(activity(Submission.team_id.in_(team_ids)))
    return {team_id: (count, last) for team_id, count, last in session.execute(query)}


@dataclass(frozen=True, slots=True)
class PlacedBenchmark:
    """A benchmark's row and the number of teams above it."""

    row: ShownRow
    place: int


def benchmark_rows(
    standings: Standings,
    *,
    competition: Competition,
    version: ScoringVersion,
    terms: Sequence[str],
    rule: BoardRule | None = None,
) -> Sequence[PlacedBenchmark]:
    """Return the benchmarks of a leaderboard, best first, with the visible terms.

    A benchmark's name is its description, or else the name of its team. In coarse feedback modes, its public
    score is rounded.
    """
    split = standings.split
    if split is Split.PUBLIC and competition.feedback is Feedback.BLIND:
        return []
    name = case((Team.is_organizers, Team.name), else_=team_names.column(competition))
    rows = standings.session.execute(
        select(Submission, name, Score)
        .join(Team, Team.id == Submission.team_id)
        .join(Score, Score.submission_id == Submission.id)
        .where(
            Submission.competition_id == competition.id,
            Submission.kind == SubmissionKind.BENCHMARK,
            Score.scoring_version_id == version.id,
            Score.split == split,
        )
        .limit(MAX_COUNT)
        .options(defer(Score.evidence))
    ).all()
    entries, shown = list[TeamEntry](), []
    for row in rows:
        units = _units(competition, split, row[2], rule)
        if units is not None:
            entries.append(TeamEntry(row[0].team_id, row[0].id, units, row[0].submitted_at))
            shown.append(row)
    places = standings.places_of(entries)
    scale = shown_scores.scale(competition, split) if rule is None else boards.scale(rule)
    decimals = term_decimals(version)
    placed = zip(entries, shown, places, strict=True)
    return [
        PlacedBenchmark(
            _row(entry, each, name, rounded_terms(score.terms, terms, decimals), scale), place - 1
        )
        for entry, (each, name, score), place in sorted(placed, key=lambda each: order.order(each[0]))
    ]


def _units(competition: Competition, split: Split, score: Score, rule: BoardRule | None) -> int | None:
    if rule is not None:
        return shown_scores.named_units(rule, (score.score, score.terms, score.groups))
    shown = shown_scores.units(competition, score.score) if split is Split.PUBLIC else None
    return competition.scale.units(score.score) if shown is None else shown


def _row(
    entry: TeamEntry, submission: Submission, team: str, terms: Mapping[str, float], scale: Scale
) -> ShownRow:
    return ShownRow(
        rank=None,
        team_id=entry.team_id,
        team=one_line(submission.description, NAME_MAX_LENGTH) or team,
        members=(),
        submission_id=entry.submission_id,
        score=scale.text(entry.score_units),
        score_units=entry.score_units,
        terms=terms,
        entry_count=1,
        last_submitted_at=entry.submitted_at,
    )


Line = ShownRow | tuple[int, int]
"""A benchmark, or a team's id and rank."""


class Sort(enum.StrEnum):
    """The sortable columns of a leaderboard, except the terms, which are sorted by their names."""

    RANK = "rank"
    CHANGE = "change"
    TEAM = "team"
    SCORE = "score"
    ENTRIES = "entries"
    LAST_SUBMITTED_AT = "last_submitted_at"


def is_usually_descending(sort: str, lowest_best: Collection[str] = ()) -> bool:
    """Return whether the greatest value usually comes first."""
    return sort not in (Sort.RANK, Sort.TEAM, *lowest_best)


def lowest_best(version: ScoringVersion, rule: BoardRule | None = None) -> frozenset[str]:
    """Return the columns of a leaderboard whose lowest value is the best."""
    about = of_version(version).describe()
    direction = about.direction if rule is None else rule.direction
    terms = [term.name for term in about.terms if term.direction is Direction.LOWEST]
    return frozenset([*terms, *([Sort.SCORE] if direction is Direction.LOWEST else [])])


def is_term(sort: str) -> bool:
    """Return whether the column is a term, which a competition may hide."""
    return sort not in list(Sort)


def sorted_lines(
    standings: Standings,
    *,
    version: ScoringVersion,
    viewer: Viewer,
    sort: str,
    descending: bool,
    search: str,
    benchmarks: Sequence[PlacedBenchmark],
    is_lowest_best: bool,
    snapshot: Snapshot = NOTHING_KEPT,
) -> list[Line]:
    """Return all rows whose team name contains `search`, sorted; rows with equal values are in rank order.

    The snapshot keeps the folded names and the values of all teams.
    """
    wanted, decimals, session = folded(search.strip()), term_decimals(version), standings.session
    if sort == Sort.SCORE and is_lowest_best:
        descending = not descending  # The values of this column are ranks.

    def teams(sort: str) -> Result[int, str, Any]:
        return session.execute(_sorted_teams(standings, version, sort, viewer))

    def names() -> list[str]:
        return [folded(name) for _, name, _ in teams(Sort.RANK)]

    def values() -> list[_Found]:
        before = public_ranks(standings) if sort == Sort.CHANGE else {}
        return [
            _Found(rank, _value(sort, rank, name, value, before.get(team_id), decimals), (team_id, rank))
            for rank, (team_id, name, value) in enumerate(teams(sort), 1)
        ]

    place = standings.split, standings.board, standings.division
    lines = snapshot.whole(("values", place, sort), values)
    if wanted:
        kept = snapshot.whole(("names", place), names)
        lines = [each for each, name in zip(lines, kept, strict=True) if wanted in name]
    else:
        lines = lines.copy()
    for each in benchmarks:
        if wanted in folded(each.row.team):
            lines.append(_Found(each.place + 0.5, _benchmark_value(sort, each), each.row))
    lines.sort(key=attrgetter("place"))
    known = [each for each in lines if each.value is not None]
    known.sort(key=attrgetter("value"), reverse=descending)  # the sort is stable, so ties stay in rank order
    return [each.line for each in known] + [each.line for each in lines if each.value is None]


class _Found(NamedTuple):
    place: float
    value: Any
    line: Line


def _sorted_teams(standings: Standings, version: ScoringVersion, sort: str, viewer: Viewer) -> Select[Any]:
    """Return a query for the teams' ids, names and sort values, best first."""
    competition = standings.session.get_one(Competition, version.competition_id)
    query = (
        select(Standing.team_id, team_names.column(competition, viewer))
        .join(Team, Team.id == Standing.team_id)
        .where(*standings.rows)
        .order_by(*STANDING_ORDER)
    )
    if is_term(sort):
        # A quotation mark, which names of classes may contain, cannot be part of a JSON path in SQLite.
        value: Any = Score.terms if '"' in sort else Score.terms[sort].as_float()
        return (
            query.add_columns(value)
            .join(Score, Score.submission_id == Standing.submission_id)
            .where(Score.scoring_version_id == version.id, Score.split == standings.split)
        )
    if sort in (Sort.ENTRIES, Sort.LAST_SUBMITTED_AT):
        done = activity(Submission.competition_id == version.competition_id)
        value = done.c.entry_count if sort == Sort.ENTRIES else done.c.last_submitted_at
        return query.add_columns(value).join(done, done.c.team_id == Standing.team_id)
    return query.add_columns(null())


def _value(sort: str, rank: int, name: str, value: Any, before: int | None, decimals: int) -> Any:
    match sort:
        case Sort.RANK:
            return rank
        case Sort.SCORE:
            return -rank  # Ranks follow the displayed scores.
        case Sort.TEAM:
            return folded(name)
        case Sort.CHANGE:
            return None if before is None else before - rank
        case Sort.ENTRIES | Sort.LAST_SUBMITTED_AT:
            return value
        case _:
            value = value.get(sort) if isinstance(value, dict) else value
            return None if value is None else float(order.round_half_even(value, decimals))


def _benchmark_value(sort: str, placed: PlacedBenchmark) -> Any:
    row = placed.row
    match sort:
        case Sort.RANK:
            return placed.place + 0.5
        case Sort.SCORE:
            return -placed.place - 0.5
        case Sort.TEAM:
            return folded(row.team)
        case Sort.CHANGE:
            return None
        case Sort.ENTRIES:
            return row.entry_count
        case Sort.LAST_SUBMITTED_AT:
            return row.last_submitted_at
        case _:
            return row.terms.get(sort)

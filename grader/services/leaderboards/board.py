"""Leaderboard pages: ranks, filters and order in SQL, benchmarks, access checks."""

import enum
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    Subquery,
    and_,
    case,
    cast,
    collate,
    func,
    literal,
    null,
    select,
    true,
)
from sqlalchemy.orm import InstrumentedAttribute, Session, defer

from fairboard.interface import Description, Direction
from grader import db
from grader.errors import ErrorKind, ParticipantError, Refusal
from grader.metrics.boards import BoardRule
from grader.models import (
    MAIN_BOARD,
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
from grader.services.competitions import boards, lookup, phases, team_names
from grader.services.competitions.metric import Rules
from grader.services.competitions.settings_model import division_names
from grader.services.leaderboards import shown_scores
from grader.services.leaderboards.group_tables import Stored, WorstGroup, worst_of
from grader.services.leaderboards.ranks import Standings
from grader.services.site.paging import PAGE_SIZE, Page
from grader.text import one_line
from grader.visibility import Feedback, Field, Phase, Viewer, visible, visible_fields

MANY = 1_000  # For more teams, a query reads the rows of all teams.
NAME_MAX_LENGTH, MAX_BENCHMARKS = 64, 50
_SPLITTER = 2.0**27 + 1
_TERMS = {Split.PUBLIC: Field.PUBLIC_TERMS, Split.PRIVATE: Field.PRIVATE_TERMS}
_GROUPS = {Split.PUBLIC: Field.PUBLIC_IDENTITIES, Split.PRIVATE: Field.PRIVATE_IDENTITIES}


class BoardNotRevealed(ParticipantError):
    """The private leaderboard is not public yet."""

    public_name = "not_revealed"
    kind = ErrorKind.FORBIDDEN
    message = "The private leaderboard has not been revealed yet."


class Sort(enum.StrEnum):
    """The sortable columns of a leaderboard, except the terms, which are sorted by their names."""

    RANK = "rank"
    CHANGE = "change"
    TEAM = "team"
    SCORE = "score"
    ENTRIES = "entries"
    LAST_SUBMITTED_AT = "last_submitted_at"


@dataclass(frozen=True, slots=True)
class BoardRequest:
    """The requested rows of a leaderboard and their order, which does not affect ranks.

    If `descending` is None, the column's usual order applies. If `division` is set, the rows and ranks are
    those of this division. A key selects a named leaderboard. Without `has_errors`, standard errors are not
    read.
    """

    page: int = 1
    page_size: int = PAGE_SIZE
    sort: str = Sort.RANK
    descending: bool | None = None
    search: str = ""
    division: str | None = None
    board: str = MAIN_BOARD
    has_errors: bool = True


WHOLE = BoardRequest(page_size=10**9, has_errors=False)


class ShownRow(NamedTuple):
    """One row of a leaderboard with rounded values.

    `terms` and `worst` are empty if the viewer may not see them. `rank` is None for a benchmark.
    `rank_change` is the number of ranks gained from the public leaderboard; it is None on that leaderboard
    and for a new team. `error` is the standard error of the exact value. `alias` is the name that other teams
    see instead of `team`, or empty if they see the same.
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
    error: float | None = None
    division: str | None = None
    alias: str = ""
    worst: WorstGroup | None = None

    @property
    def is_benchmark(self) -> bool:
        """Whether the row is shown for comparison and has no rank."""
        return self.rank is None


@dataclass(frozen=True, slots=True)
class Board:
    """One page of a leaderboard, with totals for the whole leaderboard or division.

    `rows` includes benchmarks, which have no rank. `found_count` is the number of search results,
    `team_count` the number of all teams. `pinned` is the viewer's row if `rows` does not contain it.
    `has_terms` and `has_groups` are true if the viewer may see the terms and the worst groups. `divisions`
    are those of the competition. `rule` is that of a named leaderboard. `named` are the rules of the named
    leaderboards that the viewer may see, and `hidden` those of the others. `shared` are the rows as viewers
    from other teams see them. If `is_plain`, the rows are not filtered and in rank order.
    """

    request: BoardRequest
    split: Split
    rows: tuple[ShownRow, ...]
    page: int
    page_count: int
    team_count: int
    found_count: int
    scale: Scale
    is_descending: bool
    is_plain: bool
    has_terms: bool
    has_groups: bool
    scoring_version: int
    row_share: float
    about: Description
    divisions: tuple[str, ...]
    rule: BoardRule | None
    shared: tuple[ShownRow, ...]
    pinned: ShownRow | None = None
    named: tuple[BoardRule, ...] = ()
    hidden: tuple[BoardRule, ...] = ()

    def is_usually_descending(self, sort: str) -> bool:
        """Return whether the greatest value of a column usually comes first."""
        return is_usually_descending(sort, self.about, self.rule)

    @property
    def is_start(self) -> bool:
        """Whether this is the first page of the complete main leaderboard in rank order."""
        is_filtered = self.request.division or self.request.board
        return self.is_plain and self.page == 1 and not is_filtered


def is_usually_descending(sort: str, about: Description, rule: BoardRule | None) -> bool:
    """Return whether the greatest value of a column usually comes first."""
    if sort == Sort.SCORE:
        return (rule or about).direction is not Direction.LOWEST
    lowest = [term.name for term in about.terms if term.direction is Direction.LOWEST]
    return sort not in (Sort.RANK, Sort.TEAM, *lowest)


Keep = Callable[[Hashable, Callable[[], Board], Callable[[Board], bool]], Board]
"""A cache: it returns the page of a key, read by a function unless the other one accepts the kept page."""


def board_of(
    session: Session,
    *,
    competition: Competition,
    split: Split = Split.PUBLIC,
    phase: Phase | None = None,
    viewer: Viewer = Viewer.PUBLIC,
    request: BoardRequest | None = None,
    own_team_id: int | None = None,
    keep: Keep = lambda _key, read, _is_fresh: read(),
) -> Board:
    """Return a page of a leaderboard, from the cache if possible; a page past the end is empty.

    The row of the viewer's team is always read, and the page again if it shows an earlier one. It is pinned
    if it is on another page. Raises Refusal or BoardNotRevealed.
    """
    request = request or BoardRequest()
    phase = phase or phases.phase(competition, db.now(session))
    if split is Split.PRIVATE:
        require_private(competition, viewer=viewer, phase=phase)
    version = lookup.live(competition)
    seen = visible_fields(viewer, phase, competition.feedback)
    rules, has_terms = boards.of(competition, version), _TERMS[split] in seen
    rule = boards.find(rules, request.board)
    named = tuple(each for each in rules if boards.is_visible(each, split, seen))
    about = Rules.of(version).about
    lookup.require_division(request.division, division_names(competition.divisions))
    _require_visible(request, about, rule=rule, named=named, has_terms=has_terms)
    source = _Source(
        Standings(session, version.id, split, request.board, request.division),
        competition,
        version,
        about,
        rule=rule,
        viewer=viewer,
        terms=tuple(term.name for term in about.terms) if has_terms else (),
        has_groups=bool(version.metric_settings.get("groups")) and _GROUPS[split] in seen,
        has_errors=request.has_errors and (split is Split.PRIVATE or not competition.feedback.is_coarse),
    )
    own = None if own_team_id is None else source.own(own_team_id)

    def shown_in(board: Board) -> ShownRow | None:
        return next(
            (row for row in board.shared if row.team_id == own_team_id and not row.is_benchmark), None
        )

    def is_fresh(board: Board) -> bool:
        shown = shown_in(board)
        return not (own and shown) or (shown.rank, shown.submission_id) == (own.rank, own.submission_id)

    # The rows of all teams take megabytes, so they are not kept.
    if request.page_size > PAGE_SIZE:
        board = source.page(request)
    else:
        board = keep(("board", split, request), lambda: source.page(request), is_fresh)
    shown = shown_in(board)
    return replace(
        board,
        rows=tuple(own if own and row is shown else row for row in board.shared),
        pinned=None if shown else own,
        named=named,
        hidden=tuple(each for each in rules if each not in named),
    )


def sortable(terms: Iterable[str]) -> list[str]:
    """Return the names of the sortable columns, with those of the terms after the score."""
    names = [sort.value for sort in Sort]
    place = names.index(Sort.SCORE) + 1
    return [*names[:place], *terms, *names[place:]]


def _require_visible(
    request: BoardRequest,
    about: Description,
    *,
    rule: BoardRule | None,
    named: Collection[BoardRule],
    has_terms: bool,
) -> None:
    """Raise Refusal if the requested order or leaderboard is unknown or would show hidden values."""
    columns = sortable(term.name for term in about.terms)
    if request.sort not in columns:
        message = f"There is no column {request.sort!r}. Sort by one of these: {', '.join(columns)}."
        raise Refusal("unknown_column", ErrorKind.INVALID, message)
    if request.sort not in list(Sort) and not has_terms:
        message = (
            f"The leaderboard cannot be sorted by {request.sort!r}. This competition shows only scores "
            "until the reveal."
        )
        raise Refusal("hidden_column", ErrorKind.INVALID, message)
    if rule is not None and rule not in named:
        message = (
            f"The leaderboard {rule.name!r} is visible after the reveal, because it shows values that are "
            "hidden."
        )
        raise Refusal("hidden_board", ErrorKind.FORBIDDEN, message)


def require_private(competition: Competition, *, viewer: Viewer, phase: Phase) -> None:
    """Raise BoardNotRevealed if private standings are hidden, or Refusal if there are none."""
    if not visible(Field.PRIVATE_RANK, viewer, phase, competition.feedback):
        raise BoardNotRevealed
    if phase is not Phase.REVEALED and not phases.is_settled(competition):
        message = (
            "The private standings are not available yet. They are computed once the competition has "
            "closed and every submission accepted in time has a result. Until the reveal, only "
            "organizers can see them."
        )
        raise Refusal("not_settled", ErrorKind.FORBIDDEN, message)


@dataclass(frozen=True, slots=True)
class _Source:
    """A leaderboard as one class of viewers sees it; values that they may not see are not read."""

    standings: Standings
    competition: Competition
    version: ScoringVersion
    about: Description
    rule: BoardRule | None
    viewer: Viewer
    terms: tuple[str, ...]
    has_groups: bool
    has_errors: bool

    @property
    def scale(self) -> Scale:
        if self.rule is not None:
            return boards.scale(self.rule)
        return shown_scores.scale(self.competition, self.standings.split)

    def page(self, request: BoardRequest) -> Board:
        """Return a page without the viewer's row."""
        standings, version = self.standings, self.version
        team_count = standings.count_teams()
        usual = is_usually_descending(request.sort, self.about, self.rule)
        descending = usual if request.descending is None else request.descending
        is_plain = request.sort in (Sort.RANK, Sort.SCORE) and descending is usual and not request.search
        place: Page[Any] = Page((), max(1, request.page), request.page_size, team_count)
        ranks, found_count = self._ranks(request, place, is_descending=descending)
        place = replace(place, count=found_count)
        loaded = self.load(ranks)
        rows = [loaded[team_id] for team_id in ranks]
        if is_plain:
            self._add_benchmarks(rows, place)
        solution = version.solution
        is_public = standings.split is Split.PUBLIC
        split_rows = solution.public_row_count if is_public else solution.private_row_count
        return Board(
            request=request,
            split=standings.split,
            rows=tuple(rows),
            page=place.page,
            page_count=place.page_count,
            team_count=team_count,
            found_count=found_count,
            scale=self.scale,
            is_descending=descending,
            is_plain=is_plain,
            has_terms=bool(self.terms),
            has_groups=self.has_groups,
            scoring_version=version.number,
            row_share=split_rows / (solution.public_row_count + solution.private_row_count),
            about=self.about,
            divisions=division_names(self.competition.divisions),
            rule=self.rule,
            shared=tuple(rows),
        )

    def _add_benchmarks(self, rows: list[ShownRow], place: Page[Any]) -> None:
        """Insert the benchmarks of a page in rank order, with the visible terms and worst groups."""
        start, end = place.first, place.first + place.page_size
        shown = self._benchmarks()
        places = self.standings.places_of([entry for entry, _ in shown])
        here = [
            (above, row)
            for above, (_, row) in zip((each - 1 for each in places), shown, strict=True)
            if above >= start and (above < end or end >= place.count) and (rows or place.page == 1)
        ]
        for number, (above, row) in enumerate(here):
            rows.insert(above - start + number, row)

    def _benchmarks(self) -> list[tuple[TeamEntry, ShownRow]]:
        """Return the benchmarks, best first.

        A benchmark's name is its description, or else the name of its team. Its public score is displayed as
        that of a team.
        """
        standings, competition, split = self.standings, self.competition, self.standings.split
        name = case((Team.is_organizers, Team.name), else_=team_names.column(competition))
        rows = standings.session.execute(
            select(Submission, name, Score)
            .join(Team, Team.id == Submission.team_id)
            .join(Score, Score.submission_id == Submission.id)
            .where(
                Submission.competition_id == competition.id,
                Submission.kind == SubmissionKind.BENCHMARK,
                Score.scoring_version_id == self.version.id,
                Score.split == split,
            )
            .limit(MAX_BENCHMARKS)
            .options(defer(Score.evidence))
        )
        shown: list[tuple[TeamEntry, ShownRow]] = []
        for submission, team, score in rows:
            units = self._benchmark_units(score)
            if units is None:
                continue
            row = ShownRow(
                rank=None,
                team_id=submission.team_id,
                team=one_line(submission.description, NAME_MAX_LENGTH) or team,
                members=(),
                submission_id=submission.id,
                score=self.scale.text(units),
                score_units=units,
                terms=shown_scores.rounded_terms(score.terms, self.terms, self.about.decimals_of_terms),
                entry_count=1,
                last_submitted_at=submission.submitted_at,
                worst=self._worst(score.groups) if self.has_groups else None,
            )
            shown.append((TeamEntry(row.team_id, row.submission_id, units, row.last_submitted_at), row))
        return sorted(shown, key=lambda each: order.order(each[0]))

    def _benchmark_units(self, score: Score) -> int | None:
        """Return the displayed value of a benchmark, or None if it is hidden or undefined."""
        is_public = self.standings.split is Split.PUBLIC
        if is_public and self.competition.feedback is Feedback.BLIND:
            return None
        if self.rule is not None:
            return shown_scores.named_units(self.rule, (score.score, score.terms, score.groups))
        if is_public:
            return shown_scores.units(self.competition, score.score)
        return self.competition.scale.units(score.score)

    def _worst(self, groups: Stored) -> WorstGroup | None:
        return worst_of(groups, is_lowest_best=self.version.scale.is_lowest_best)

    def own(self, team_id: int) -> ShownRow | None:
        """Return the row of the viewer's team with its own visible values, or None if it has no rank."""
        ranked = self.standings.ranked_entry_of(team_id)
        return replace(self, viewer=Viewer.TEAM).load({team_id: ranked[1]})[team_id] if ranked else None

    def load(self, ranks: Mapping[int, int]) -> dict[int, ShownRow]:
        """Return the rows of teams whose ranks are known; only exact scores have standard errors."""
        standings, competition = self.standings, self.competition
        if not ranks:
            return {}
        are_hidden = team_names.are_hidden(competition, self.viewer)
        is_all = len(ranks) > MANY

        def among(team_id: InstrumentedAttribute[int], others: ColumnElement[bool]) -> ColumnElement[bool]:
            return others if is_all else team_id.in_(ranks)

        done = _activity(among(Submission.team_id, Submission.competition_id == competition.id))
        query = (
            select(
                Standing.team_id,
                Standing.submission_id,
                Standing.score_units,
                Team.division,
                team_names.column(competition, self.viewer),
                Team.alias if competition.is_anonymous and not are_hidden else literal(""),
                Score.errors if self.has_errors else null(),
                Score.terms if self.terms else null(),
                Score.groups if self.has_groups else null(),
                done.c.entry_count,
                done.c.last_submitted_at,
            )
            .join(Team, Team.id == Standing.team_id)
            .join(Score, self._is_score)
            .join(done, done.c.team_id == Standing.team_id)
            .where(*standings.rows, among(Standing.team_id, true()))
        )
        members: Mapping[int, list[str]] = defaultdict(list)
        if not are_hidden:
            mine = TeamMember.competition_id == competition.id
            members = members_of(standings.session, among(TeamMember.team_id, mine))
        before: Mapping[int, int] = {}
        if standings.split is Split.PRIVATE:
            before = replace(standings, split=Split.PUBLIC).ranks(None if is_all else ranks)
        scale, decimals = self.scale, self.about.decimals_of_terms
        rows = {}
        for line in standings.session.execute(query):
            team_id, file_id, units, division, name, alias, errors, terms, groups, count, last = line
            rank = ranks[team_id]
            rows[team_id] = ShownRow(
                rank=rank,
                team_id=team_id,
                team=name,
                members=tuple(members[team_id]),
                submission_id=file_id,
                score=scale.text(units),
                score_units=units,
                terms=shown_scores.rounded_terms(terms or {}, self.terms, decimals),
                entry_count=count,
                last_submitted_at=last,
                rank_change=before[team_id] - rank if team_id in before else None,
                error=self._error(errors) if errors else None,
                division=division,
                alias=alias,
                worst=self._worst(groups) if self.has_groups else None,
            )
        return rows

    @property
    def _is_score(self) -> ColumnElement[bool]:
        """The condition that joins the score of an entry."""
        return and_(
            Score.submission_id == Standing.submission_id,
            Score.scoring_version_id == self.version.id,
            Score.split == self.standings.split,
        )

    def _error(self, stored: Mapping[str, float] | None) -> float | None:
        """Return the shown standard error; a sum of a named leaderboard has none."""
        name = "score"
        if self.rule is not None:
            name = self.rule.single.name if self.rule.single else ""
        return shown_scores.shown_errors(stored, (name,)).get(name)

    def _ranks(
        self, request: BoardRequest, place: Page[Any], *, is_descending: bool
    ) -> tuple[dict[int, int], int]:
        """Return the ranks of a page's teams in the requested order, and the number of teams found.

        Teams with equal values are in rank order.
        """
        session, sort = self.standings.session, request.sort
        teams = self._values(sort, has_names=bool(request.search) or sort == Sort.TEAM).subquery()
        wanted = teams.c.name.icontains(request.search, autoescape=True) if request.search else true()
        value: ColumnElement[Any] = teams.c.value
        match sort:
            case Sort.RANK | Sort.SCORE:  # The best value has the first place.
                value = teams.c.rank
                is_descending = is_descending is not is_usually_descending(sort, self.about, self.rule)
            case Sort.TEAM:
                is_postgresql = session.get_bind().dialect.name == "postgresql"
                value = collate(func.lower(teams.c.name), "C" if is_postgresql else "BINARY")
            case Sort.CHANGE | Sort.ENTRIES | Sort.LAST_SUBMITTED_AT:
                pass
            case _:
                value = _as_displayed(value, self.about.decimals_of_terms)
        ranks = session.execute(
            select(teams.c.team_id, teams.c.rank)
            .where(wanted)
            .order_by((value.desc() if is_descending else value.asc()).nulls_last(), teams.c.rank)
            .limit(place.page_size)
            .offset((place.page - 1) * place.page_size)
        )
        found_count = place.count
        if request.search:
            found_count = session.scalar(select(func.count()).select_from(teams).where(wanted)) or 0
        return dict(ranks.all()), found_count

    def _values(self, sort: str, *, has_names: bool) -> Select[Any]:
        """Return the query for the id, rank, name if needed, and value of all teams."""
        name = team_names.column(self.competition, self.viewer) if has_names else literal("")
        rank = func.row_number().over(order_by=STANDING_ORDER)
        query = select(Standing.team_id, rank.label("rank"), name.label("name"))
        query = query.where(*self.standings.rows)
        if has_names:
            query = query.join(Team, Team.id == Standing.team_id)
        if sort in (Sort.ENTRIES, Sort.LAST_SUBMITTED_AT):
            done = _activity(Submission.competition_id == self.competition.id)
            value = done.c.entry_count if sort == Sort.ENTRIES else done.c.last_submitted_at
            return query.add_columns(value.label("value")).join(done, done.c.team_id == Standing.team_id)
        if sort == Sort.CHANGE and self.standings.split is Split.PRIVATE:
            before = replace(self.standings, split=Split.PUBLIC).ranked_teams().subquery()
            is_same = before.c.team_id == Standing.team_id
            return query.add_columns((before.c.rank - rank).label("value")).outerjoin(before, is_same)
        if sort in list(Sort):
            return query.add_columns(cast(None, Integer).label("value"))
        return query.add_columns(self._term(sort).label("value")).join(Score, self._is_score)

    def _term(self, name: str) -> ColumnElement[float]:
        value: ColumnElement[float]
        if '"' not in name or self.standings.session.get_bind().dialect.name == "postgresql":
            value = Score.terms[name].as_float()
            return value
        # A quotation mark, which names of classes may contain, cannot be part of a JSON path in SQLite.
        each = func.json_each(Score.terms).table_valued("key", "value")
        value = select(each.c.value).where(each.c.key == name).scalar_subquery()
        return value


def _as_displayed(value: ColumnElement[float], decimals: int) -> ColumnElement[float]:
    """Return a term as displayed, because the order of equal displayed terms would show hidden digits.

    A product of exactly one half is rounded by its own error, computed from two halves of the value (Dekker's
    product): terms of small splits are often that close to a half.
    """
    factor = 10.0**decimals
    product, high = value * factor, value * _SPLITTER - (value * _SPLITTER - value)
    error = (high * factor - product) + (value - high) * factor
    nearest = func.round(product)
    units = case(
        (func.abs(product - nearest) < 0.5, nearest),
        (error > 0, product + 0.5),
        (error < 0, product - 0.5),
        else_=2 * func.round(product / 2),
    )
    return case((func.abs(value) >= float(order.LARGEST_UNITS), value), else_=units / factor)


def _activity(condition: ColumnElement[bool]) -> Subquery:
    """Return a subquery of each team's number of scored entries and the time of the last one."""
    is_entry = Submission.status == SubmissionStatus.SCORED, Submission.kind == SubmissionKind.NORMAL
    return (
        select(
            Submission.team_id,
            func.count().label("entry_count"),
            func.max(Submission.submitted_at).label("last_submitted_at"),
        )
        .where(*is_entry, condition)
        .group_by(Submission.team_id)
        .subquery()
    )


def members_of(session: Session, condition: ColumnElement[bool]) -> dict[int, list[str]]:
    """Return the names of teams' members by team id, in the order in which they joined."""
    members: dict[int, list[str]] = defaultdict(list)
    query = (
        select(TeamMember.team_id, User.name)
        .join(User, User.id == TeamMember.user_id)
        .where(condition)
        .order_by(TeamMember.joined_at, TeamMember.id)
    )
    for team_id, name in session.execute(query):
        members[team_id].append(name)
    return members

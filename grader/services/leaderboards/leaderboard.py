"""Pages of the public and private leaderboards, with access checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from fairboard.interface import Description
from grader import db
from grader.errors import ErrorKind, ParticipantError
from grader.metrics import registry
from grader.metrics.boards import BoardRule
from grader.models import MAIN_BOARD, STANDING_ORDER, Competition, ScoringVersion, Split, Standing, Team
from grader.ranking.order import Scale, TeamEntry
from grader.services.competitions import boards, lookup, metric, phases, team_names
from grader.services.competitions.metric import Rules
from grader.services.competitions.settings_model import division_names
from grader.services.leaderboards import lines as board_lines
from grader.services.leaderboards import shown_scores
from grader.services.leaderboards.group_tables import WorstGroup, worst_of_submissions
from grader.services.leaderboards.lines import ShownRow, Sort
from grader.services.leaderboards.ranks import Standings
from grader.services.leaderboards.snapshots import NOTHING_KEPT, Snapshot
from grader.services.site.paging import PAGE_SIZE, Paging, paging
from grader.visibility import Field, Phase, Viewer, visible, visible_fields

EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
# With these ids, a position sorts after all entries that have the same score and time.
NOBODY, LAST = 0, 2**31 - 1


class BoardNotRevealed(ParticipantError):
    """The private leaderboard is not public yet."""

    public_name = "not_revealed"
    kind = ErrorKind.FORBIDDEN
    message = "The private leaderboard has not been revealed yet."


class BoardNotComputed(ParticipantError):
    """The private standings have not been computed yet."""

    public_name = "not_settled"
    kind = ErrorKind.FORBIDDEN
    message = (
        "The private standings are not available yet. They are computed once the competition has closed and "
        "every submission accepted in time has a result. Until the reveal, only organizers can see them."
    )


class HiddenColumn(ParticipantError):
    """The leaderboard cannot be sorted by a column that it does not show."""

    public_name = "hidden_column"
    message = (
        "The leaderboard cannot be sorted by {name!r}. This competition shows only scores until the reveal."
    )


@dataclass(frozen=True, slots=True)
class BoardCursor:
    """A leaderboard position that stays valid when teams enter above it."""

    score_units: int
    submitted_at: datetime

    def text(self) -> str:
        """Return the position as text for a URL."""
        return f"{self.score_units}-{(self.submitted_at - EPOCH) // MICROSECOND}"

    @classmethod
    def of(cls, text: str) -> "BoardCursor":
        """Parse the output of `text`."""
        units, microseconds = text.rsplit("-", 1)
        return cls(int(units), EPOCH + int(microseconds) * MICROSECOND)


@dataclass(frozen=True, slots=True)
class BoardRequest:
    """The requested rows of a leaderboard and their order, which does not affect ranks.

    If `descending` is None, the column's usual order applies. The row of the team `own_team_id` is pinned if
    it is on another page. If `after` is set, the rows follow that position of the leaderboard in rank order.
    `lowest_best` are the columns whose lowest value is the best. If `division` is set, the rows and ranks are
    those of this division. A key selects a named leaderboard.
    """

    page: int = 1
    page_size: int = PAGE_SIZE
    sort: str = Sort.RANK
    descending: bool | None = None
    search: str = ""
    own_team_id: int | None = None
    after: BoardCursor | None = None
    lowest_best: frozenset[str] = frozenset()
    division: str | None = None
    board: str = MAIN_BOARD

    @property
    def is_main(self) -> bool:
        """Whether this is the main leaderboard with all divisions."""
        return not (self.division or self.board)

    @property
    def is_descending(self) -> bool:
        """Whether the greatest value comes first."""
        usual = board_lines.is_usually_descending(self.sort, self.lowest_best)
        return usual if self.descending is None else self.descending

    @property
    def is_plain(self) -> bool:
        """Whether this is the complete leaderboard in rank order."""
        by_rank = (self.sort == Sort.RANK and not self.is_descending) or (
            self.sort == Sort.SCORE and self.is_descending is (Sort.SCORE not in self.lowest_best)
        )
        return by_rank and not self.search.strip()


@dataclass(frozen=True, slots=True)
class Board:
    """One page of a leaderboard, with totals for the whole leaderboard or division.

    `rows` includes benchmarks, which have no rank. `found_count` is the number of search results,
    `team_count` the number of all teams. `pinned` is the viewer's row if `rows` does not contain it.
    `has_terms` is true if the viewer may see the terms. `following` is the position after which the next page
    in rank order starts. `leader_units` is the displayed score of the first team. `divisions` are those of
    the competition. `worst` contains the worst groups by submission id; it is None if there are no groups or
    the viewer may not see them. `rule` is that of a named leaderboard. `named` are the rules of the named
    leaderboards that the viewer may see, and `hidden` those of the others.
    """

    split: Split
    rows: tuple[ShownRow, ...]
    pinned: ShownRow | None
    page: int
    page_count: int
    team_count: int
    leader_units: int | None
    scale: Scale
    found_count: int
    has_terms: bool
    scoring_version: int
    row_share: float
    following: BoardCursor | None
    about: Description = field(default_factory=registry.default)
    divisions: tuple[str, ...] = ()
    worst: Mapping[int, WorstGroup] | None = None
    rule: BoardRule | None = None
    named: tuple[BoardRule, ...] = ()
    hidden: tuple[BoardRule, ...] = ()


def board_of(
    session: Session,
    *,
    competition: Competition,
    split: Split = Split.PUBLIC,
    phase: Phase | None = None,
    viewer: Viewer = Viewer.PUBLIC,
    now: datetime | None = None,
    request: BoardRequest | None = None,
    snapshot: Snapshot = NOTHING_KEPT,
) -> Board:
    """Return a page of a leaderboard, from the snapshot if possible; a page past the end is empty.

    Raises HiddenColumn, BoardNotRevealed, BoardNotComputed, UnknownBoard or HiddenBoard.
    """
    request = request or BoardRequest()
    phase = phase or phases.phase(competition, now or db.now(session))
    if split is Split.PRIVATE:
        require_private(competition, viewer=viewer, phase=phase)
    is_public, version = split is Split.PUBLIC, lookup.live(competition)
    terms = Field.PUBLIC_TERMS if is_public else Field.PRIVATE_TERMS
    groups = Field.PUBLIC_IDENTITIES if is_public else Field.PRIVATE_IDENTITIES
    has_terms = visible(terms, viewer, phase, competition.feedback)
    if board_lines.is_term(request.sort) and not has_terms:
        raise HiddenColumn(name=request.sort)
    rules = boards.of(competition, version)
    rule, seen = boards.find(rules, request.board), visible_fields(viewer, phase, competition.feedback)
    named = tuple(each for each in rules if boards.is_visible(each, split, seen))
    if rule is not None and rule not in named:
        raise boards.HiddenBoard(name=rule.name)
    are_hidden = team_names.are_hidden(competition, viewer)
    of = _Of(session, competition, version, split, has_terms, snapshot, request.division, rule, viewer)
    page = replace(request, own_team_id=None)
    if request.page_size > PAGE_SIZE:  # not kept, because the rows of all teams take megabytes
        board = _read(of, page)
    else:
        board = snapshot.page(("board", split, has_terms, page), lambda: _read(of, page))
    own_id = request.own_team_id
    if own_id is not None and all(row.team_id != own_id or row.is_benchmark for row in board.rows):
        own = snapshot.page(
            ("own", split, has_terms, own_id, request.division, request.board), lambda: _own(of, own_id)
        )
        board = replace(board, pinned=own)
    if own_id is not None and are_hidden:
        board = _with_own_name(session, board, own_id)
    if rules:
        hidden = tuple(each for each in rules if each not in named)
        board = replace(board, rule=rule, named=named, hidden=hidden)
    if not (version.metric_settings.get("groups") and visible(groups, viewer, phase, competition.feedback)):
        return board
    ids = [row.submission_id for row in (*board.rows, board.pinned) if row]
    return replace(
        board, worst=worst_of_submissions(session, version=version, split=split, submission_ids=ids)
    )


@dataclass(frozen=True, slots=True)
class _Of:
    """A leaderboard as one class of viewers sees it."""

    session: Session
    competition: Competition
    version: ScoringVersion
    split: Split
    has_terms: bool
    snapshot: Snapshot
    division: str | None
    rule: BoardRule | None
    viewer: Viewer

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the visible terms."""
        return metric.term_names(self.version) if self.has_terms else ()

    @property
    def standings(self) -> Standings:
        key = MAIN_BOARD if self.rule is None else self.rule.key
        return Standings(self.session, self.version.id, self.split, key, self.division)

    @property
    def scale(self) -> Scale:
        return (
            shown_scores.scale(self.competition, self.split) if self.rule is None else boards.scale(self.rule)
        )

    def load(self, ranks: Mapping[int, int]) -> Mapping[int, ShownRow]:
        """Return the rows of teams with known ranks."""
        return board_lines.load(
            self.standings,
            version=self.version,
            ranks=ranks,
            terms=self.terms,
            scale=self.scale,
            rule=self.rule,
            has_errors=self.split is Split.PRIVATE or not self.competition.feedback.is_coarse,
            viewer=self.viewer,
        )


def _with_own_name(session: Session, board: Board, team_id: int) -> Board:
    """Return a page of aliases with the name and the members of the viewer's own team."""
    name, members = session.get_one(Team, team_id).name, board_lines.members_of(session, [team_id])

    def named(row: ShownRow) -> ShownRow:
        if row.team_id != team_id or row.is_benchmark:
            return row
        return replace(row, team=name, members=tuple(members[team_id]), alias=row.team)

    pinned = named(board.pinned) if board.pinned else None
    return replace(board, rows=tuple(map(named, board.rows)), pinned=pinned)


def _read(of: _Of, request: BoardRequest) -> Board:
    """Return a page without the viewer's row."""
    competition, version, split, standings = of.competition, of.version, of.split, of.standings
    team_count, best = standings.count_and_best()
    unranked = board_lines.benchmark_rows(
        standings, competition=competition, version=version, terms=of.terms, rule=of.rule
    )
    following = None
    if request.is_plain:
        place = paging(team_count, page=request.page, page_size=request.page_size)
        if request.after is not None:
            place = _from(standings, request.after, request.page_size, team_count)
        lines, following = _plain_page(standings, place, unranked)
        found_count = team_count
    else:
        all_lines = board_lines.sorted_lines(
            standings,
            version=version,
            viewer=of.viewer,
            sort=request.sort,
            descending=request.is_descending,
            search=request.search,
            benchmarks=unranked,
            is_lowest_best=of.scale.is_lowest_best,
            snapshot=of.snapshot,
        )
        found_count = sum(not isinstance(line, ShownRow) for line in all_lines)
        place = paging(len(all_lines), page=request.page, page_size=request.page_size)
        lines = all_lines[place.first : place.first + place.page_size]
    ranks = dict(line for line in lines if not isinstance(line, ShownRow))
    loaded = of.load(ranks)
    solution, rules = version.solution, Rules.of(version)
    split_rows = solution.public_row_count if split is Split.PUBLIC else solution.private_row_count
    return Board(
        split=split,
        rows=tuple(line if isinstance(line, ShownRow) else loaded[line[0]] for line in lines),
        pinned=None,
        page=place.page,
        page_count=place.page_count,
        team_count=team_count,
        leader_units=best,
        scale=of.scale,
        found_count=found_count,
        has_terms=of.has_terms,
        scoring_version=version.number,
        row_share=split_rows / (solution.public_row_count + solution.private_row_count),
        following=following,
        about=rules.about,
        divisions=division_names(competition.divisions),
    )


def require_private(competition: Competition, *, viewer: Viewer, phase: Phase) -> None:
    """Raise BoardNotRevealed if private standings are hidden, or BoardNotComputed if there are none."""
    if not visible(Field.PRIVATE_RANK, viewer, phase, competition.feedback):
        raise BoardNotRevealed
    if phase is not Phase.REVEALED and not phases.is_settled(competition):
        raise BoardNotComputed


def _from(standings: Standings, after: BoardCursor, page_size: int, count: int) -> Paging:
    """Return the page that starts after a position."""
    start = standings.rank_of(TeamEntry(NOBODY, LAST, after.score_units, after.submitted_at)) - 1
    return Paging(start // page_size + 1, page_size, count, start)


def _plain_page(
    standings: Standings, paging: Paging, unranked: Sequence[board_lines.PlacedBenchmark]
) -> tuple[list[board_lines.Line], BoardCursor | None]:
    """Return a page read directly from the index, with its benchmarks and end position."""
    rows = standings.session.execute(
        select(Standing.team_id, Standing.score_units, Standing.submitted_at)
        .where(*standings.rows)
        .order_by(*STANDING_ORDER)
        .limit(paging.page_size)
        .offset(paging.first)
    ).all()
    lines: list[board_lines.Line] = []
    for place, (team_id, _, _) in enumerate(rows, paging.first):
        lines += [each.row for each in unranked if each.place == place]
        lines.append((team_id, place + 1))
    end = paging.first + paging.page_size
    if end >= paging.count and (paging.first < paging.count or paging.page == 1):
        lines += [each.row for each in unranked if each.place >= paging.count]
    is_last = not rows or end >= paging.count
    return lines, None if is_last else BoardCursor(rows[-1].score_units, rows[-1].submitted_at)


def _own(of: _Of, team_id: int) -> ShownRow | None:
    """Return the row of the viewer's team, or None if it has no rank."""
    ranked = of.standings.ranked_entry_of(team_id)
    return of.load({team_id: ranked[1]})[team_id] if ranked else None

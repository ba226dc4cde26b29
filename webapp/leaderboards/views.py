"""Leaderboard views, CSV files, and a team's results after the reveal."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fairboard.losses import term_costs, weakest_term
from grader.charts.svg import robust_floor
from grader.models import Split
from grader.ranking.order import Scale, error_text, term_text
from grader.services.leaderboards import group_tables
from grader.services.leaderboards.board import Board, BoardRequest, ShownRow, Sort, is_usually_descending
from grader.services.leaderboards.team_results import ResultLine, TeamResults
from grader.services.site.paging import PAGE_SIZE
from grader.text import csv_lines, iso
from webapp.presentation import formats
from webapp.presentation.terms import ClassNames, Term, terms_of

MINUS = "\N{MINUS SIGN}"
SMALLEST_SPREAD = 200
PODIUM = 3
SHORTEST_BAR = 4  # percent, so that the last row of a page also has a bar


@dataclass(frozen=True, slots=True)
class TermCell:
    """A term in a row: text, shade (none if the teams do not differ), and whether it is the row's weakest."""

    text: str
    shade: str
    is_weakest: bool


@dataclass(frozen=True, slots=True)
class RowView:
    """A row of a leaderboard page.

    `counted_id` is the counted submission on the private leaderboard. `gap` is the distance to the leader;
    `bar` is the position within the page's range of scores, in percent. `is_clipped` marks scores far below
    that range.
    """

    rank: int | None
    team_id: int
    team: str
    division: str | None
    members: tuple[str, ...]
    score: str
    error: str
    gap: str
    bar: int
    is_clipped: bool
    terms: tuple[TermCell, ...]
    worst_group: tuple[str, str]
    entry_count: int
    last_submitted_at: datetime
    change: str
    direction: str
    is_own: bool
    counted_id: int | None
    alias: str


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """The rank of the viewer's team, and the page of its row."""

    rank: int
    page: int
    team_id: int


@dataclass(frozen=True, slots=True)
class HeadingView:
    """A column heading: name, help, sort query, current order."""

    key: str
    name: str
    css: str
    help: str
    order: str
    aria_sort: str | None


class BoardView:
    """One page of a leaderboard, with the viewer's own team marked."""

    def __init__(
        self,
        board: Board,
        wanted: BoardRequest,
        *,
        own_team_id: int | None,
        classes: ClassNames,
        is_revealed: bool = False,
    ) -> None:
        self.page = board.page
        self.page_count = board.page_count
        self.team_count = board.team_count
        self.found_count = board.found_count
        self.search = wanted.search.strip()
        self.is_plain = wanted.is_plain
        self.division, self.divisions = wanted.division, board.divisions
        self.rule, self.key = board.rule, wanted.board or None
        self.is_private = board.split is Split.PRIVATE
        self.terms = terms_of(board.about) if board.has_terms else ()
        self.about = None if board.about.is_weighted_sum else board.about
        self.has_groups = board.has_groups
        self.heading = _heading(board)
        self.basis = _basis(board)
        self.caution = _caution(board, is_revealed=is_revealed)
        self.columns = [_column(*column, wanted) for column in _columns(board, classes, self.terms)]
        self.lines = _Lines(board)
        self.has_rows = bool(board.rows)
        self.pinned = self.lines.row(board.pinned, is_own=True) if board.pinned else None
        has_podium = self.is_private and is_revealed and wanted.is_plain and board.page == 1
        self.podium = [
            self.lines.row(row, is_own=row.team_id == own_team_id)
            for row in board.rows
            if has_podium and row.rank and row.rank <= PODIUM
        ]
        self.own = _own_place(board, own_team_id)
        self.has_shades = bool(self.lines.shaded)
        self.query = _query(wanted)


def _heading(board: Board) -> str:
    kind = "Public" if board.split is Split.PUBLIC else "Private"
    return f"{kind} leaderboard{f': {board.rule.name}' if board.rule else ''}"


def _basis(board: Board) -> str:
    teams = f"{formats.counted(board.team_count, 'team')} · " if board.team_count else ""
    hidden = "hidden " if board.split is Split.PRIVATE else ""
    return f"{teams}{hidden}{board.row_share:.0%} of the test set"


def _caution(board: Board, *, is_revealed: bool) -> str:
    """Return the caution about the rows on which the ranks are based."""
    if board.split is Split.PRIVATE:
        return "These rows were hidden until the reveal."
    share = f"{board.row_share:.0%}"
    other = "half" if share == "50%" else f"{1 - board.row_share:.0%}"
    return f"The private leaderboard uses the other {other}{'' if is_revealed else ', so expect changes'}."


def _columns(board: Board, classes: ClassNames, terms: Sequence[Term]) -> list[tuple[str, str, str, str]]:
    has_errors = any(row.errors.get("score") for row in board.rows)
    score = ("± is the standard error. " if has_errors else "") + (
        "The last number is the gap to the leader. The bar shows the score within the range "
        f"of this page's scores; a hollow bar means that the score is far {board.scale.worse} this range."
    )
    group = "The group of rows with the worst value, and this value."
    change_help = "Ranks gained or lost compared with the public leaderboard."
    return [
        (Sort.RANK, "Rank", "number rank", ""),
        *([(Sort.CHANGE, "Change", "change", change_help)] if board.split is Split.PRIVATE else []),
        (Sort.TEAM, "Team", "team", ""),
        (Sort.SCORE, board.rule.name if board.rule else "Score", "score", score),
        *((term.key, term.name, "term", f"{term.explained(classes)}.") for term in terms),
        *([("", "Worst group", "term", group)] if board.has_groups else []),
        (Sort.ENTRIES, "Entries", "number entries", ""),
        (Sort.LAST_SUBMITTED_AT, "Last submitted", "last", ""),
    ]


def _own_place(board: Board, own_team_id: int | None) -> OwnPlace | None:
    """Return the rank and page of the viewer's row."""
    rows = (*board.rows, *([board.pinned] if board.pinned else []))
    ranks = (row.rank for row in rows if row.team_id == own_team_id and row.rank is not None)
    rank = next(ranks, None)
    if rank is None or own_team_id is None:
        return None
    return OwnPlace(rank, (rank - 1) // PAGE_SIZE + 1, own_team_id)


def _column(sort: str, name: str, css: str, help_text: str, wanted: BoardRequest) -> HeadingView:
    is_sorted = wanted.sort == sort
    descending = not wanted.is_descending if is_sorted else is_usually_descending(sort, wanted.lowest_best)
    now = "descending" if wanted.is_descending else "ascending"
    return HeadingView(
        key=str(sort),
        name=name,
        css=css,
        help=help_text,
        order="desc" if descending else "asc",
        aria_sort=now if is_sorted else None,
    )


def _query(wanted: BoardRequest) -> dict[str, str]:
    """Return the query parameters that links to the leaderboard's other pages keep."""
    query = {"q": wanted.search.strip()} if wanted.search.strip() else {}
    query |= {"division": wanted.division} if wanted.division else {}
    query |= {"board": wanted.board} if wanted.board else {}
    if wanted.sort != Sort.RANK or wanted.is_descending:
        query |= {"sort": str(wanted.sort), "order": "desc" if wanted.is_descending else "asc"}
    return query


class _Lines:
    """Builder of a page's rows, which depend on each other."""

    def __init__(self, board: Board) -> None:
        self._board = board
        units = [row.score_units for row in board.rows if not row.is_benchmark] or [0]
        self._low, self._high = robust_floor(units, least=SMALLEST_SPREAD), max(units)
        terms = board.about.terms if board.about.is_weighted_sum else ()  # The shades are those of AUCs.
        self.shaded = frozenset(term.name for term in terms if _differ(board.rows, term.name))

    def row(self, row: ShownRow, *, is_own: bool = False) -> RowView:
        """Return a row as displayed on the page."""
        has_change = self._board.split is Split.PRIVATE and not row.is_benchmark
        text, direction = change(row.rank_change) if has_change else ("", "quiet")
        return RowView(
            rank=row.rank,
            team_id=row.team_id,
            team=row.team,
            division=row.division,
            members=() if row.members == (row.team,) else row.members,
            score=row.score,
            error=error_text(row.errors["score"]) if row.errors.get("score") else "",
            gap=_gap(row.score_units, self._board.leader_units, self._board.scale),
            bar=self._bar(row.score_units),
            is_clipped=row.score_units < self._low,
            terms=_terms(row.terms, self._board, self.shaded),
            worst_group=worst_group(row),
            entry_count=row.entry_count,
            last_submitted_at=row.last_submitted_at,
            change=text,
            direction=direction,
            is_own=is_own,
            counted_id=counted_id(row, self._board),
            alias=row.alias,
        )

    def _bar(self, units: int) -> int:
        if self._high == self._low:
            return 100 if units >= self._high else SHORTEST_BAR
        share = (units - self._low) / (self._high - self._low)
        return round(SHORTEST_BAR + (100 - SHORTEST_BAR) * min(max(share, 0.0), 1.0))


def _gap(units: int, leader: int | None, scale: Scale) -> str:
    """Return the displayed gap to the leader's score, empty for equal scores."""
    if leader is None or units == leader:
        return ""
    change = scale.value(units - leader)
    return f"{MINUS if change < 0 else '+'}{scale.size_text(units - leader)}"


def _differ(rows: Sequence[ShownRow], term: str) -> bool:
    """Return whether the teams on the page differ by more than the standard error of the term."""
    shown = [row for row in rows if term in row.terms and not row.is_benchmark]
    values = [row.terms[term] for row in shown]
    errors = [row.errors.get(term, 0.0) for row in shown]
    return bool(shown) and max(values) - min(values) > max(errors)


def _terms(terms: Mapping[str, float], board: Board, shaded: Collection[str]) -> tuple[TermCell, ...]:
    weakest = weakest_term(term_costs(terms, board.about.terms))
    usual = "plain" if board.about.is_weighted_sum else ""
    return tuple(
        TermCell(text, formats.shade(terms[key]) if key in shaded else usual, key == weakest)
        for key, text in term_texts(terms, board).items()
    )


def worst_group(row: ShownRow) -> tuple[str, str]:
    """Return the worst group of a row and its value, empty if there is none."""
    worst = row.worst
    return (f"{worst.column} = {worst.name}", group_tables.text(worst.score)) if worst else ("", "")


def counted_id(row: ShownRow, board: Board) -> int | None:
    """Return the id of the submission behind a row of the main private leaderboard."""
    return None if board.split is Split.PUBLIC or board.rule or row.is_benchmark else row.submission_id


def term_texts(terms: Mapping[str, float], board: Board) -> dict[str, str]:
    """Return the displayed terms in the order of the columns, empty where a score does not have the term."""
    names = [term.name for term in board.about.terms] if board.has_terms else []
    decimals = board.about.decimals_of_terms
    return {name: term_text(terms[name], decimals) if name in terms else "" for name in names}


def change(rank_change: int | None) -> tuple[str, str]:
    """Return the text of a rank change, and the CSS class of its direction."""
    if rank_change is None:
        return "new", "quiet"
    if rank_change == 0:
        return "=", "quiet"
    return (f"↑ {rank_change:,}", "up") if rank_change > 0 else (f"↓ {-rank_change:,}", "down")


def board_csv(board: Board) -> str:
    """Return all rows of a leaderboard as CSV, without hidden terms."""
    return csv_lines([_header(board), *(_cells(row, board) for row in board.rows)])


def _header(board: Board) -> tuple[str, ...]:
    terms = (term.name for term in board.about.terms if board.has_terms)
    groups = ("worst_group", "worst_group_score") if board.has_groups else ()
    columns = "rank", "team", *(("division",) if board.divisions else ()), "members", "score", *terms, *groups
    return *columns, "entries", "last_submitted_at", "rank_change"


def _cells(row: ShownRow, board: Board) -> tuple[str | float | None, ...]:
    return (
        row.rank,
        row.team,
        *((row.division,) if board.divisions else ()),
        "; ".join(row.members),
        row.score,
        *term_texts(row.terms, board).values(),
        *(worst_group(row) if board.has_groups else ()),
        row.entry_count,
        iso(row.last_submitted_at),
        row.rank_change,
    )


class ResultsView:
    """A team's files after the reveal, and sentences about its ranks."""

    def __init__(self, results: TeamResults) -> None:
        self.team = results.team
        self.lines = [(line, _why(line)) for line in results.lines]
        self.place = _place(results)
        self.missed = _missed(results, any(line.is_picked for line in results.lines))
        shake_up = (
            None
            if results.rank is None or results.public_rank is None
            else results.public_rank - results.rank
        )
        self.change, self.direction = ("", "quiet") if shake_up is None else change(shake_up)


def _place(results: TeamResults) -> str:
    if results.rank is None:
        return "Your team is not on the private leaderboard."
    place = f"{formats.ordinal(results.rank)} of {formats.counted(results.team_count, 'team')}"
    if results.public_rank is None:
        return f"{place}."
    return f"{place}, and {formats.ordinal(results.public_rank)} on the public leaderboard."


def _why(line: ResultLine) -> str:
    """Return whether a file competed and counts, with the reason."""
    if line.is_late:
        return "late: not ranked"
    if line.is_picked is None:
        return "did not compete: not selected"
    how = "selected by you" if line.is_picked else "chosen automatically (best public score)"
    return f"counted; {how}" if line.counted else f"competed; {how}"


def _missed(results: TeamResults, has_picked: bool) -> str:
    missed = results.missed
    if missed is None:
        return ""
    rank = formats.ordinal(missed.rank)
    if not missed.is_better:
        praise = "Your selection was right" if has_picked else "The automatic selection was right"
        return (
            f"{praise}: your best other submission, #{missed.submission_id} with {missed.score}, would not "
            f"have ranked higher ({rank})."
        )
    return (
        f"Your best submission that did not compete, #{missed.submission_id} with {missed.score}, would have "
        f"ranked {rank}."
    )

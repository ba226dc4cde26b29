"""View of a leaderboard's rows and columns, for its page and the API."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from grader.models import Split
from grader.services.leaderboards.leaderboard import Asked, Board
from grader.services.leaderboards.lines import BoardRow
from grader.services.leaderboards.sorting import Sort
from grader.services.standings.final_standings import FinalPage
from webapp.presentation import formats
from webapp.presentation.terms import TERMS, Term


@dataclass(frozen=True, slots=True)
class RowView:
    """One line of a leaderboard's page; `counted_id` is the submission behind it on the private one."""

    rank: int | None
    team_id: int
    team: str
    members: tuple[str, ...]
    score: str
    terms: tuple[str, ...]
    entry_count: int
    last_submitted_at: datetime
    change: str
    direction: str
    is_own: bool
    counted_id: int | None


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A heading: the column's name, the query that sorts by it, and how the page is sorted by it now."""

    key: str
    name: str
    css: str
    term: Term | None
    order: str
    aria_sort: str | None


class BoardView:
    """One page of a leaderboard, with the viewer's own team marked."""

    def __init__(
        self,
        board: Board,
        asked: Asked,
        *,
        own_team_id: int | None,
        is_revealed: bool = False,
        is_final: bool = False,
    ) -> None:
        self.page = board.page
        self.page_count = board.page_count
        self.team_count = board.team_count
        self.found_count = board.found_count
        self.search = asked.search.strip()
        self.is_plain = asked.is_plain
        self.is_private = board.split is Split.PRIVATE
        self.has_changes = board.has_changes
        self.terms = TERMS if board.has_terms else ()
        self.heading = _heading(board.split, is_final=is_final)
        self.basis = _basis(board, is_revealed=is_revealed)
        self.columns = [_column(*column, asked) for column in _columns(board)]
        self.rows = [_row(row, board, own_team_id) for row in board.rows]
        self.pinned = board.pinned and _row(board.pinned, board, own_team_id)
        self.query = _query(asked)


class FinalView:
    """One page of stored final standings."""

    def __init__(self, final: FinalPage, *, own_team_id: int | None) -> None:
        self.number = final.number
        self.numbers = tuple(range(1, final.newest + 1))
        self.is_newest = final.number == final.newest
        self.reason = final.reason
        self.created_at = final.created_at
        self.scoring_version = final.scoring_version
        self.team_count = final.count
        self.page = final.page
        self.page_count = final.page_count
        self.rows = [(row, *change(row.rank_change), row.team_id == own_team_id) for row in final.rows]


def _heading(split: Split, *, is_final: bool) -> str:
    if split is Split.PUBLIC:
        return "Public leaderboard"
    return "Final leaderboard" if is_final else "Private leaderboard"


def _basis(board: Board, *, is_revealed: bool) -> str:
    computed = f"{formats.counted(board.team_count, 'team')}, computed" if board.team_count else "Computed"
    share = f"{board.row_share:.0%}"
    if board.split is Split.PRIVATE:
        return f"{computed} on the {share} of the test set that was hidden."
    other = "half" if share == "50%" else f"{1 - board.row_share:.0%}"
    caution = "" if is_revealed else ", so expect changes"
    return f"{computed} on {share} of the test set. Final ranks use the other {other}{caution}."


def _columns(board: Board) -> list[tuple[Sort, str, str, Term | None]]:
    return [
        (Sort.RANK, "Rank", "number rank", None),
        *([(Sort.CHANGE, "Change", "number", None)] if board.has_changes else []),
        (Sort.TEAM, "Team", "", None),
        (Sort.SCORE, "Score", "number", None),
        *((Sort(term.key), term.name, "term", term) for term in TERMS if board.has_terms),
        (Sort.ENTRIES, "Entries", "number", None),
        (Sort.LAST_SUBMITTED_AT, "Last sent, UTC", "", None),
    ]


def _column(sort: Sort, name: str, css: str, term: Term | None, asked: Asked) -> ColumnView:
    is_sorted = asked.sort is sort
    descending = not asked.is_descending if is_sorted else sort.is_usually_descending
    now = "descending" if asked.is_descending else "ascending"
    return ColumnView(
        key=sort.value,
        name=name,
        css=css,
        term=term,
        order="desc" if descending else "asc",
        aria_sort=now if is_sorted else None,
    )


def _query(asked: Asked) -> dict[str, str]:
    """Return the query parameters that links to other pages of the same leaderboard keep."""
    query = {"q": asked.search.strip()} if asked.search.strip() else {}
    if asked.sort is not Sort.RANK or asked.is_descending:
        query |= {"sort": asked.sort.value, "order": "desc" if asked.is_descending else "asc"}
    return query


def _row(row: BoardRow, board: Board, own_team_id: int | None) -> RowView:
    has_change = board.has_changes and not row.is_benchmark
    text, direction = change(row.rank_change) if has_change else ("", "quiet")
    return RowView(
        rank=row.rank,
        team_id=row.team_id,
        team=row.team,
        members=() if row.members == (row.team,) else row.members,
        score=row.score,
        terms=term_texts(row.terms),
        entry_count=row.entry_count,
        last_submitted_at=row.last_submitted_at,
        change=text,
        direction=direction,
        is_own=row.team_id == own_team_id and not row.is_benchmark,
        counted_id=counted_id(row, board),
    )


def counted_id(row: BoardRow, board: Board) -> int | None:
    """Return the submission behind a line of the private leaderboard."""
    return None if board.split is Split.PUBLIC or row.is_benchmark else row.submission_id


def term_texts(terms: Mapping[str, float]) -> tuple[str, ...]:
    """Return the rounded terms that are shown with their four decimals, in the order of the headings."""
    return tuple(f"{terms[term.key]:.4f}" for term in TERMS if term.key in terms)


def change(rank_change: int | None) -> tuple[str, str]:
    """Return the text of a change of rank and the class of its direction."""
    if rank_change is None:
        return "new", "quiet"
    if rank_change == 0:
        return "=", "quiet"
    return (f"↑ {rank_change:,}", "up") if rank_change > 0 else (f"↓ {-rank_change:,}", "down")

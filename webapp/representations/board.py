"""A leaderboard as its page and the API show it; every number comes rounded from the service."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from grader.models import Split
from grader.services.boards import Board, BoardRow
from webapp import formats
from webapp.representations.terms import TERMS


@dataclass(frozen=True, slots=True)
class RowView:
    """One line of a leaderboard's page."""

    rank: int
    team: str
    score: str
    terms: tuple[str, ...]
    entry_count: int
    last_submitted_at: datetime
    change: str
    direction: str
    is_own: bool


class BoardView:
    """One page of a leaderboard, with the viewer's own team marked."""

    def __init__(self, board: Board, *, is_revealed: bool, own_team_id: int | None) -> None:
        self.page = board.page
        self.page_count = board.page_count
        self.team_count = board.team_count
        self.has_changes = board.split is Split.PRIVATE
        self.heading = "Final leaderboard" if self.has_changes else "Public leaderboard"
        self.basis = _basis(board, is_revealed=is_revealed)
        self.rows = [_row(row, own_team_id) for row in board.rows]


def _basis(board: Board, *, is_revealed: bool) -> str:
    teams = formats.counted(board.team_count, "team")
    share = f"{board.row_share:.0%}"
    if board.split is Split.PRIVATE:
        return f"{teams}, computed on the {share} of the test set that was hidden. This is the result."
    rest = "has decided" if is_revealed else "decides in the end, so ranks may change"
    return f"{teams}, computed on {share} of the test set. The rest {rest}."


def _row(row: BoardRow, own_team_id: int | None) -> RowView:
    change, direction = _change(row.rank_change)
    return RowView(
        rank=row.rank,
        team=row.team,
        score=row.score,
        terms=term_texts(row.terms),
        entry_count=row.entry_count,
        last_submitted_at=row.last_submitted_at,
        change=change,
        direction=direction,
        is_own=row.team_id == own_team_id,
    )


def term_texts(terms: Mapping[str, float]) -> tuple[str, ...]:
    """Return the rounded terms with their four decimals, in the order of the headings."""
    return tuple(f"{terms[term.key]:.4f}" for term in TERMS)


def _change(rank_change: int | None) -> tuple[str, str]:
    if rank_change is None:
        return "new", "quiet"
    if rank_change == 0:
        return "=", "quiet"
    return (f"↑ {rank_change:,}", "up") if rank_change > 0 else (f"↓ {-rank_change:,}", "down")


def board_json(board: Board, *, next_page: str | None) -> dict[str, Any]:
    """Return the API's form of one page of a leaderboard."""
    return {
        "split": board.split.value,
        "scoring_version": board.scoring_version,
        "row_share": round(board.row_share, 4),
        "team_count": board.team_count,
        "rows": [_row_json(row, board.split) for row in board.rows],
        "next": next_page,
    }


def _row_json(row: BoardRow, split: Split) -> dict[str, Any]:
    line = {
        "rank": row.rank,
        "team": row.team,
        "score": float(row.score),
        "terms": dict(row.terms),
        "entries": row.entry_count,
        "last_submitted_at": formats.iso(row.last_submitted_at),
    }
    return line | {"rank_change": row.rank_change} if split is Split.PRIVATE else line

"""Leaderboard as CSV for download: its columns, safe to open in a spreadsheet."""

from grader.services.leaderboards.leaderboard import Board
from grader.services.leaderboards.lines import BoardRow
from grader.text import csv_lines
from webapp.leaderboards.views import term_texts
from webapp.presentation import formats
from webapp.presentation.terms import TERMS


def board_csv(board: Board) -> str:
    """Return all lines of a leaderboard; a benchmark has no rank. Terms that are not shown have no column."""
    return csv_lines([_header(board), *map(_cells, board.rows)])


def _header(board: Board) -> tuple[str, ...]:
    terms = (term.key for term in TERMS if board.has_terms)
    return "rank", "team", "members", "score", *terms, "entries", "last_submitted_at", "rank_change"


def _cells(row: BoardRow) -> tuple[str | int | None, ...]:
    return (
        row.rank,
        row.team,
        "; ".join(row.members),
        row.score,
        *term_texts(row.terms),
        row.entry_count,
        formats.iso(row.last_submitted_at),
        row.rank_change,
    )

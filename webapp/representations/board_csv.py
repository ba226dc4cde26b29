"""A leaderboard as CSV (RFC 4180): numbers stay numbers, and no name becomes a formula in a spreadsheet."""

import csv
import io

from grader.services.board_lines import BoardRow
from grader.services.boards import Board
from webapp import formats
from webapp.representations.board import term_texts
from webapp.representations.terms import TERMS

# What spreadsheets take for the start of a formula, in both widths, and what they skip before one.
FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def board_csv(board: Board) -> str:
    """Return all lines of a leaderboard; a benchmark has no rank. Terms that are not shown have no column."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(_header(board))
    writer.writerows(_cells(row) for row in board.rows)
    return text.getvalue()


def safe(name: str) -> str:
    """Return a name that no spreadsheet computes: an apostrophe stands before what looks like a formula."""
    return f"'{name}" if name.lstrip(" ").startswith(FORMULA_STARTS) else name


def _header(board: Board) -> tuple[str, ...]:
    terms = (term.key for term in TERMS if board.has_terms)
    return "rank", "team", "members", "score", *terms, "entries", "last_submitted_at", "rank_change"


def _cells(row: BoardRow) -> tuple[str | int | None, ...]:
    return (
        row.rank,
        safe(row.team),
        safe("; ".join(row.members)),
        row.score,
        *term_texts(row.terms),
        row.entry_count,
        formats.iso(row.last_submitted_at),
        row.rank_change,
    )

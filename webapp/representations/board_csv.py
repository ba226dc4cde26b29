"""A leaderboard as CSV (RFC 4180): numbers stay numbers, and no name becomes a formula in a spreadsheet."""

import csv
import io

from grader.services.board_lines import BoardRow
from grader.services.boards import Board
from webapp import formats
from webapp.representations.terms import TERMS

# What spreadsheets take for the start of a formula, in both widths, and what they skip before one.
FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
HEADER = (
    "rank",
    "team",
    "members",
    "score",
    *(term.key for term in TERMS),
    "entries",
    "last_submitted_at",
    "rank_change",
)


def board_csv(board: Board) -> str:
    """Return all lines of a leaderboard; a benchmark has no rank."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(HEADER)
    writer.writerows(_cells(row) for row in board.rows)
    return text.getvalue()


def safe(name: str) -> str:
    """Return a name that no spreadsheet computes: an apostrophe stands before what looks like a formula."""
    return f"'{name}" if name.lstrip(" ").startswith(FORMULA_STARTS) else name


def _cells(row: BoardRow) -> tuple[str | int | None, ...]:
    return (
        row.rank,
        safe(row.team),
        safe("; ".join(row.members)),
        row.score,
        *(f"{row.terms[term.key]:.4f}" for term in TERMS),
        row.entry_count,
        formats.iso(row.last_submitted_at),
        row.rank_change,
    )

"""Leaderboard page rows, and leaderboards as CSV files."""

from collections.abc import Sequence

from fairboard.interface import TermSpec
from grader.charts.svg import robust_floor
from grader.models import Split
from grader.ranking.order import term_text
from grader.services.leaderboards import group_tables
from grader.services.leaderboards.board import Board, ShownRow, Sort
from grader.text import csv_lines, iso

SMALLEST_SPREAD = 200
SHORTEST_BAR = 4  # percent, so that the last row of a page also has a bar


def columns(board: Board, terms: Sequence[TermSpec]) -> list[tuple[str, str, str]]:
    """Return the key, name and CSS class of each column; the key is empty if it cannot be sorted."""
    return [
        (Sort.RANK, "Rank", "number rank"),
        *([(Sort.CHANGE, "Change", "change")] if board.split is Split.PRIVATE else []),
        (Sort.TEAM, "Team", "team"),
        (Sort.SCORE, board.rule.name if board.rule else "Score", "score"),
        *((term.name, term.short_title, "term") for term in terms),
        *([("", "Worst group", "term")] if board.has_groups else []),
        (Sort.ENTRIES, "Entries", "number entries"),
        (Sort.LAST_SUBMITTED_AT, "Last submitted", "last"),
    ]


class Bars:
    """The bars of a page's scores: their range, without far worse scores, and their widths."""

    def __init__(self, board: Board) -> None:
        units = [row.score_units for row in board.rows if not row.is_benchmark] or [0]
        self.low, self._high = robust_floor(units, least=SMALLEST_SPREAD), max(units)

    def width(self, units: int) -> int:
        """Return the position of a score within the range, in percent."""
        if self._high == self.low:
            return 100 if units >= self._high else SHORTEST_BAR
        share = (units - self.low) / (self._high - self.low)
        return round(SHORTEST_BAR + (100 - SHORTEST_BAR) * min(max(share, 0.0), 1.0))


def term_texts(row: ShownRow, board: Board) -> list[str]:
    """Return the displayed terms in the order of the columns, empty where a score does not have the term."""
    names = [term.name for term in board.about.terms] if board.has_terms else []
    decimals = board.about.decimals_of_terms
    return [term_text(row.terms[name], decimals) if name in row.terms else "" for name in names]


def board_csv(board: Board) -> str:
    """Return all rows of a leaderboard as CSV, without hidden terms."""
    terms = (term.name for term in board.about.terms if board.has_terms)
    groups = ("worst_group", "worst_group_score") if board.has_groups else ()
    header = "rank", "team", *(("division",) if board.divisions else ()), "members", "score", *terms, *groups
    rows = (_cells(row, board) for row in board.rows)
    return csv_lines([(*header, "entries", "last_submitted_at", "rank_change"), *rows])


def _cells(row: ShownRow, board: Board) -> tuple[str | float | None, ...]:
    worst: tuple[str, ...] = ("", "") if board.has_groups else ()
    if row.worst is not None:
        worst = f"{row.worst.column} = {row.worst.name}", group_tables.text(row.worst.score)
    return (
        row.rank,
        row.team,
        *((row.division,) if board.divisions else ()),
        "; ".join(row.members),
        row.score,
        *term_texts(row, board),
        *worst,
        row.entry_count,
        iso(row.last_submitted_at),
        row.rank_change,
    )

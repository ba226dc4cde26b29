"""Leaderboard page rows, and leaderboards as CSV files."""

from collections.abc import Sequence

from fairboard.losses import term_costs, weakest_term
from grader.charts.svg import robust_floor
from grader.models import Split
from grader.ranking.order import term_text
from grader.services.leaderboards import group_tables
from grader.services.leaderboards.board import Board, ShownRow, Sort
from grader.text import csv_lines, iso
from webapp.presentation import formats
from webapp.presentation.terms import ClassNames, Term

MINUS = "\N{MINUS SIGN}"
SMALLEST_SPREAD = 200
SHORTEST_BAR = 4  # percent, so that the last row of a page also has a bar


def columns(board: Board, classes: ClassNames, terms: Sequence[Term]) -> list[tuple[str, str, str, str]]:
    """Return the key, name, CSS class and help of each column; the key is empty if it cannot be sorted."""
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


class Rows:
    """Row attributes that depend on the other rows of the page: bars, gaps and shades."""

    def __init__(self, board: Board) -> None:
        self._board = board
        units = [row.score_units for row in board.rows if not row.is_benchmark] or [0]
        self.low, self._high = robust_floor(units, least=SMALLEST_SPREAD), max(units)
        terms = board.about.terms if board.about.is_weighted_sum else ()  # The shades are those of AUCs.
        self.shaded = frozenset(term.name for term in terms if _differ(board.rows, term.name))

    def bar(self, row: ShownRow) -> int:
        """Return the position of the score within the page's range of scores, in percent."""
        if self._high == self.low:
            return 100 if row.score_units >= self._high else SHORTEST_BAR
        share = (row.score_units - self.low) / (self._high - self.low)
        return round(SHORTEST_BAR + (100 - SHORTEST_BAR) * min(max(share, 0.0), 1.0))

    def gap(self, row: ShownRow) -> str:
        """Return the displayed gap to the leader's score, empty for equal scores."""
        leader, scale = self._board.leader_units, self._board.scale
        if leader is None or row.score_units == leader:
            return ""
        units = row.score_units - leader
        return f"{MINUS if scale.value(units) < 0 else '+'}{scale.size_text(units)}"

    def terms(self, row: ShownRow) -> list[tuple[str, str, bool]]:
        """Return the text and shade of each term, and whether it is the row's weakest."""
        about = self._board.about
        weakest = weakest_term(term_costs(row.terms, about.terms))
        usual = "plain" if about.is_weighted_sum else ""
        return [
            (text, formats.shade(row.terms[key]) if key in self.shaded else usual, key == weakest)
            for key, text in _term_texts(row, self._board).items()
        ]


def _differ(rows: Sequence[ShownRow], term: str) -> bool:
    """Return whether the teams on the page differ by more than the standard error of the term."""
    shown = [row for row in rows if term in row.terms and not row.is_benchmark]
    values = [row.terms[term] for row in shown]
    errors = [row.errors.get(term, 0.0) for row in shown]
    return bool(shown) and max(values) - min(values) > max(errors)


def _term_texts(row: ShownRow, board: Board) -> dict[str, str]:
    """Return the displayed terms in the order of the columns, empty where a score does not have the term."""
    names = [term.name for term in board.about.terms] if board.has_terms else []
    decimals = board.about.decimals_of_terms
    return {name: term_text(row.terms[name], decimals) if name in row.terms else "" for name in names}


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
        *_term_texts(row, board).values(),
        *worst,
        row.entry_count,
        iso(row.last_submitted_at),
        row.rank_change,
    )

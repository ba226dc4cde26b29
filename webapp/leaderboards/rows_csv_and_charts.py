"""Leaderboard rows, CSV files and charts with their data tables."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from fairboard.interface import TermSpec
from grader.charts.frontier import Cloud, cloud, frontier_chart
from grader.charts.steps import Steps, step_chart
from grader.charts.svg import robust_floor
from grader.models import ScoringVersion, Split
from grader.ranking.order import TeamEntry, term_text
from grader.services.competitions.metric import Rules
from grader.services.leaderboards import group_tables
from grader.services.leaderboards.board import Board, ShownRow, Sort
from grader.services.leaderboards.score_history import TermPoint
from grader.text import csv_lines, iso
from webapp.presentation.formats import column_name
from webapp.presentation.terms import NAMES

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


TEAM_COUNT = 5


def plotted(points: Sequence[TermPoint], version: ScoringVersion) -> Cloud | None:
    """Return the scatter plot of a leaderboard, or None if there are no teams."""
    about = Rules.of(version).about
    is_over_groups = any(term.is_over_groups for term in about.terms)
    names = (about.terms[0].title, "Worst bias term") if is_over_groups else (about.title, "Worst group")
    spots = [(point.overall, point.worst) for point in points]
    return cloud(spots, names, is_lowest_best=version.scale.is_lowest_best)


def frontier(
    drawn: Cloud, named: Mapping[int, TermPoint], names: Mapping[int, str], *, own: int | None
) -> dict[str, Any]:
    """Return the chart of accuracy and fairness in both widths, with the rows of its table."""
    teams = {place: names[point.team_id] for place, point in named.items()}
    wide, narrow = frontier_chart(drawn, names=teams, own=own)
    return {
        "svg": wide,
        "narrow_svg": narrow,
        "outside": drawn.outside,
        "named": [
            (each, teams[place], NAMES.get(each.worst_term) or column_name(each.worst_term), place == own)
            for place, each in named.items()
        ],
        "titles": (drawn.x.name, drawn.y.name),
    }


def top(board: Board, *, own_team_id: int | None) -> list[ShownRow]:
    """Return the teams of the step chart on the first page."""
    ranked = [row for row in (*board.rows, board.pinned) if row is not None and not row.is_benchmark]
    return [row for place, row in enumerate(ranked) if place < TEAM_COUNT or row.team_id == own_team_id]


def has_frontier(board: Board) -> bool:
    """Return whether the viewer may see the values of the chart: the terms of bias or groups."""
    return board.has_terms if board.about.is_weighted_sum else board.has_groups


def steps(
    rows: Sequence[ShownRow],
    histories: Mapping[int, Sequence[TeamEntry]],
    board: Board,
    *,
    own_team_id: int | None,
    end: datetime,
) -> dict[str, Any] | None:
    """Return the step chart of these teams until a time, and its table; None if there are no teams."""
    teams = [
        Steps(row.rank or 0, row.team, row.team_id == own_team_id, tuple(histories[row.team_id]))
        for row in rows
        if histories[row.team_id]
    ]
    chart = step_chart(teams, until=end, scale=board.scale)
    return None if chart is None else {"chart": chart, "teams": teams}

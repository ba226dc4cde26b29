"""Leaderboard charts with their data tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from grader.charts.frontier import Cloud, cloud, frontier_chart, labeled
from grader.charts.steps import Steps, step_chart
from grader.models import ScoringVersion
from grader.ranking.order import TeamEntry
from grader.services.competitions.metric import Rules
from grader.services.leaderboards.board import Board, ShownRow
from grader.services.leaderboards.score_history import TermPoint
from webapp.presentation.formats import column_name
from webapp.presentation.terms import NAMES

TEAM_COUNT = 5


@dataclass
class Frontier:
    """The points of a leaderboard in rank order, and their scatter plot."""

    points: Sequence[TermPoint]
    cloud: Cloud

    @cached_property
    def _places(self) -> dict[int, int]:
        return {point.team_id: place for place, point in enumerate(self.points)}

    def place_of(self, team_id: int | None) -> int | None:
        """Return the index of a team's point."""
        return None if team_id is None else self._places.get(team_id)

    def named(self, own_team_id: int | None) -> list[int]:
        """Return the indexes of the labeled points."""
        return sorted(labeled(self.cloud, self.place_of(own_team_id)))


def plotted(points: Sequence[TermPoint], version: ScoringVersion) -> Frontier | None:
    """Return the scatter plot of a leaderboard, or None if there are no teams."""
    about = Rules.of(version).about
    is_over_groups = any(term.is_over_groups for term in about.terms)
    names = (about.terms[0].title, "Worst bias term") if is_over_groups else (about.title, "Worst group")
    spots = [(point.overall, point.worst) for point in points]
    drawn = cloud(spots, names, is_lowest_best=version.scale.is_lowest_best)
    return None if drawn is None else Frontier(points, drawn)


def frontier(plot: Frontier, names: Mapping[int, str], *, own_team_id: int | None) -> dict[str, Any]:
    """Return the chart of accuracy and fairness in both widths, with the rows of its table."""
    named = [(place, plot.points[place]) for place in plot.named(own_team_id)]
    teams = {place: names[point.team_id] for place, point in named}
    wide, narrow = frontier_chart(plot.cloud, names=teams, own=plot.place_of(own_team_id))
    return {
        "svg": wide,
        "narrow_svg": narrow,
        "outside": plot.cloud.outside,
        "named": [
            (each, teams[at], NAMES.get(each.worst_term) or column_name(each.worst_term))
            for at, each in named
        ],
        "titles": (plot.cloud.x.name, plot.cloud.y.name),
        "own_team_id": own_team_id,
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

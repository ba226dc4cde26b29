"""Leaderboard charts with their data tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.charts.frontier import frontier_chart
from grader.charts.steps import BandLevel, StepChart, Steps, step_chart
from grader.ranking.order import Scale
from grader.services.leaderboards.board import Board, BoardRequest, ShownRow
from grader.services.leaderboards.score_history import TEAM_COUNT, TeamSteps, TermPoint
from webapp.http.caches import Frontier
from webapp.presentation.terms import NAMES

BAND_LINES = 8  # maximum number of rows in the table below the chart


@dataclass(frozen=True, slots=True)
class StepsView:
    """The step chart, with its teams and the band as in its table; `text` formats the scores of both."""

    chart: StepChart
    teams: Sequence[Steps]
    band: Sequence[BandLevel]
    text: Callable[[int], str]
    others: int
    is_sample: bool


@dataclass(frozen=True, slots=True)
class FrontierView:
    """The Pareto chart of accuracy and fairness in both widths.

    `named` contains the point, team and worst term or group of each label; `titles` names both values.
    """

    svg: str
    narrow_svg: str
    outside: int
    named: Sequence[tuple[TermPoint, str, str]]
    titles: tuple[str, str]
    scale: Scale
    own_team_id: int | None


def top(board: Board, *, own_team_id: int | None) -> list[ShownRow]:
    """Return the teams of the step chart on the first page."""
    ranked = [row for row in (*board.rows, board.pinned) if row is not None and not row.is_benchmark]
    return [row for place, row in enumerate(ranked) if place < TEAM_COUNT or row.team_id == own_team_id]


def is_first(board: Board, request: BoardRequest) -> bool:
    """Return whether the page has charts, which show the whole main leaderboard."""
    return request.is_plain and board.page == 1 and request.is_main


def has_frontier(board: Board) -> bool:
    """Return whether the viewer may see the values of the chart: the terms of bias or groups."""
    return board.has_terms if board.about.is_weighted_sum else board.has_groups


def steps(
    rows: Sequence[ShownRow],
    histories: Sequence[TeamSteps],
    others: Sequence[TeamSteps],
    *,
    team_count: int,
    own_team_id: int | None,
    until: datetime | None,
    now: datetime,
    scale: Scale,
) -> StepsView | None:
    """Return the step chart of these teams up to now or the close; None if there are no teams."""
    teams = [
        Steps(row.rank or 0, row.team, row.team_id == own_team_id, each.steps)
        for row, each in zip(rows, histories, strict=True)
        if each.steps
    ]
    end = min(now, until) if until else now
    crowd = [each.steps for each in others]
    chart = step_chart(teams, until=end, others=crowd, scale=scale)
    if chart is None:
        return None
    is_sample = len(teams) + len(crowd) < team_count
    band = chart.band[::-1][:: max(1, len(chart.band) // BAND_LINES)]
    return StepsView(chart, teams, band, scale.text, len(crowd), is_sample)


def frontier(
    points: Frontier | None, names: Mapping[int, str], board: Board, *, own_team_id: int | None
) -> FrontierView | None:
    """Return the chart of accuracy and fairness; None if there are no teams."""
    if points is None:
        return None
    named = {place: names[points.points[place].team_id] for place in points.named(own_team_id)}
    wide, narrow = frontier_chart(points.cloud, names=named, own=points.place_of(own_team_id))
    lines = [
        (point := points.points[place], named[place], NAMES.get(point.worst_term, point.worst_term))
        for place in sorted(named)
    ]
    drawn = points.cloud
    titles = drawn.x.name, drawn.y.name
    return FrontierView(wide, narrow, drawn.outside, lines, titles, board.scale, own_team_id)

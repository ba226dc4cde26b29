"""View of the leaderboard's charts and their data tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.charts.slopes import Slope, slope_chart
from grader.charts.steps import StepChart, Steps, step_chart
from grader.ranking.order import score_text
from grader.services.leaderboards.leaderboard import Asked, Board
from grader.services.leaderboards.lines import BoardRow
from grader.services.leaderboards.score_steps import TEAM_COUNT, TeamSteps


@dataclass(frozen=True, slots=True)
class StepsView:
    """The step chart, and each step as a line: team, time, score."""

    chart: StepChart
    rows: tuple[tuple[str, datetime, str], ...]


@dataclass(frozen=True, slots=True)
class SlopesView:
    """The slope chart, and each slope as a line: team, public rank, private rank."""

    svg: str
    rows: tuple[tuple[str, int, int], ...]


def top(board: Board, asked: Asked) -> list[BoardRow]:
    """Return the teams of the step chart: the first teams, only on the unfiltered first page."""
    if not asked.is_plain or board.page > 1:
        return []
    return [row for row in board.rows if not row.is_benchmark][:TEAM_COUNT]


def steps(
    rows: Sequence[BoardRow],
    found: Sequence[TeamSteps],
    *,
    own_team_id: int | None,
    until: datetime | None,
    now: datetime,
) -> StepsView | None:
    """Return the step chart of these teams up to now or the close; None without teams."""
    teams = [
        Steps(row.rank or 0, row.team, row.team_id == own_team_id, each.steps)
        for row, each in zip(rows, found, strict=True)
    ]
    chart = step_chart(teams, until=min(now, until) if until else now)
    if chart is None:
        return None
    lines = (
        (team.team, step.submitted_at, score_text(step.score_units)) for team in teams for step in team.steps
    )
    return StepsView(chart, tuple(lines))


def slopes(board: Board, asked: Asked, *, own_team_id: int | None) -> SlopesView | None:
    """Return the slope chart of the first page's teams and the own one; None on other pages."""
    if not asked.is_plain or board.page > 1:
        return None
    rows = [*board.rows, *([board.pinned] if board.pinned else [])]
    teams = [
        Slope(row.rank, row.rank + row.rank_change, row.team, row.team_id == own_team_id)
        for row in rows
        if row.rank is not None and row.rank_change is not None
    ]
    svg = slope_chart(teams)
    if svg is None:
        return None
    return SlopesView(svg, tuple((team.team, team.public_rank, team.rank) for team in teams))

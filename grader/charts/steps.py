"""Step chart of the teams' best public scores over time.

Only displayed values are used, so the chart reveals no more than the table below it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from grader.charts.svg import (
    NARROW,
    SHOWN_VALUES,
    WIDE,
    Axis,
    Place,
    Plot,
    circle,
    polyline,
    robust_floor,
    stairs,
    text,
    time_marks,
    writer,
)
from grader.ranking.order import SCALE, Scale, TeamEntry
from grader.text import counted

NARROW_TIME_MARKS = 3
COLOURS = 10
SMALLEST_SPREAD = 200
SHORTEST = timedelta(minutes=10)
POINTED_TEAMS = 3  # maximum number of teams for which each step also has a point


@dataclass(frozen=True, slots=True)
class Steps:
    """One team's line in the chart; `steps` is not empty."""

    rank: int
    team: str
    is_own: bool
    steps: Sequence[TeamEntry]


class StepChart(NamedTuple):
    """A step chart in both widths; scores below `floor`, if not None, appear at the bottom edge."""

    svg: str
    narrow_svg: str
    floor: str | None


def step_chart(teams: Sequence[Steps], *, until: datetime, scale: Scale = SCALE) -> StepChart | None:
    """Render the step chart of teams, sorted best first, until a time; return None if there are no teams."""
    if not teams:
        return None
    until = max(until, *(team.steps[-1].submitted_at for team in teams))
    firsts = [team.steps[0] for team in teams]
    start = min(*(first.submitted_at for first in firsts), until - SHORTEST)
    x, y = Axis("", start.timestamp(), until.timestamp()), _score_axis(teams, scale)
    wide, narrow = (_drawn(Plot.fitting(frame, x, y), teams, start, until) for frame in (WIDE, NARROW))
    lowest = min(first.score_units for first in firsts)
    return StepChart(wide, narrow, scale.text(int(y.low)) if lowest < y.low else None)


def _drawn(plot: Plot, teams: Sequence[Steps], start: datetime, until: datetime) -> str:
    right = plot.frame.right
    parts = [*plot.levels(), *_times(plot, start, until)]
    places = [_places(team.steps, plot) for team in teams]
    heights = plot.frame.heights([each[-1][1] for each in places])
    lines = enumerate(zip(teams, places, heights, strict=True))
    # The best team is rendered last so that its line is on top.
    for number, (team, steps, height) in reversed(list(lines)):
        css = f"s{number % COLOURS}{' own' if team.is_own else ''}"
        parts.append(polyline(f"step {css}", stairs(steps, right)))
        if len(teams) <= POINTED_TEAMS or team.is_own:
            parts += [circle(f"point {css}", place, 3) for place in steps]
        parts += plot.frame.named(f" {css}", (right, steps[-1][1]), height, f"{team.rank}. {team.team}")
    description = (
        f"Step chart of the best public score of {counted(len(teams), 'team')} over time. The table below "
        "contains the same values."
    )
    return plot.frame.picture("chart", description, parts)


def _places(steps: Iterable[TeamEntry], plot: Plot) -> list[Place]:
    return [plot.place(step.submitted_at.timestamp(), step.score_units) for step in steps]


def _score_axis(teams: Sequence[Steps], scale: Scale) -> Axis:
    """Return an axis that separates the teams' latest scores despite very low first scores."""
    ends = [team.steps[-1].score_units for team in teams]
    top = max(ends)
    if len(ends) <= SHOWN_VALUES:
        ends = [entry.score_units for team in teams for entry in team.steps]
    floor = round(robust_floor(ends, least=SMALLEST_SPREAD))
    if floor == top:
        floor = top - SMALLEST_SPREAD
    unit = scale.value(1)
    write = writer((top - floor) * abs(unit))
    return Axis("", floor, top, write=lambda units: write(units * unit))


def _times(plot: Plot, start: datetime, until: datetime) -> Iterator[str]:
    """Yield the time axis with its time zone.

    If the axis shows times of day, pages convert them to the reader's time zone.
    """
    frame, marks = plot.frame, time_marks(start, until)
    has_hours = any(":" in written for _, written in marks)

    def shown(css: str, at: float, moment: datetime, words: str, form: str) -> str:
        data = {"time": moment.isoformat(), "form": form} if has_hours else {}
        return text(css, at, frame.bottom + 20, words, data)

    every = -(-len(marks) // NARROW_TIME_MARKS) if frame.css == NARROW.css else 1
    for moment, written in marks[::every] if marks else ():
        at = plot.across(moment.timestamp())
        yield f'<path class="rule" d="M{at:.1f} {frame.bottom}v5"/>'
        yield shown("tick", at, moment, written, "axis")
    yield shown("tick at-start", 4, start, "UTC", "zone")
    yield f'<path class="rule" d="M{frame.left} {frame.bottom}H{frame.right}"/>'

"""Step chart of the teams' best public scores over time.

Only displayed values are used, so the chart reveals no more than the table below it. If there are too many
teams for individual lines, a band shows the range of the best scores of 80 % of the other teams.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.charts.svg import (
    NARROW,
    SHOWN_VALUES,
    WIDE,
    Axis,
    Place,
    Plot,
    circle,
    levels,
    points,
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
LINES = 14  # maximum number of other teams that have individual faint lines
BAND_TIMES = 48


@dataclass(frozen=True, slots=True)
class Steps:
    """One team's line in the chart; `steps` is not empty."""

    rank: int
    team: str
    is_own: bool
    steps: Sequence[TeamEntry]


@dataclass(frozen=True, slots=True)
class BandLevel:
    """The band of the other teams' best scores at one time, in units."""

    at: datetime
    low: int
    middle: int
    high: int


@dataclass(frozen=True, slots=True)
class StepChart:
    """A step chart in both widths; scores below `floor`, if not None, appear at the bottom edge.

    `band` contains the band of the other teams if there are too many for individual lines.
    """

    svg: str
    narrow_svg: str
    floor: str | None
    band: tuple[BandLevel, ...] = ()


def step_chart(
    teams: Sequence[Steps],
    *,
    until: datetime,
    others: Sequence[Sequence[TeamEntry]] = (),
    scale: Scale = SCALE,
) -> StepChart | None:
    """Render the step chart until a time; return None if there are no teams.

    `teams` must be sorted, best first. The `others` appear as faint lines, or as a band if there are many.
    """
    if not teams:
        return None
    until = max(until, *(team.steps[-1].submitted_at for team in teams))
    firsts = [steps[0] for steps in (*(team.steps for team in teams), *others)]
    start = min(*(first.submitted_at for first in firsts), until - SHORTEST)
    band = _band(others, start, until) if len(others) > LINES else ()
    x = Axis("", start.timestamp(), until.timestamp())
    y = _score_axis(teams, others, scale)
    wide, narrow = (
        _drawn(Plot.fitting(frame, x, y), teams, others, band, start, until) for frame in (WIDE, NARROW)
    )
    lowest = min(first.score_units for first in firsts)
    return StepChart(wide, narrow, scale.text(int(y.low)) if lowest < y.low else None, band)


def _drawn(
    plot: Plot,
    teams: Sequence[Steps],
    others: Sequence[Sequence[TeamEntry]],
    band: Sequence[BandLevel],
    start: datetime,
    until: datetime,
) -> str:
    right = plot.frame.area.right
    parts = [*levels(plot.y, plot.frame.area), *_times(plot, start, until)]
    if band:
        parts += _drawn_band(band, plot)
    else:
        parts += [polyline("step other", stairs(_places(steps, plot), right)) for steps in others]
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


def _band(others: Sequence[Sequence[TeamEntry]], start: datetime, until: datetime) -> tuple[BandLevel, ...]:
    """Return the 10 %, 50 % and 90 % quantiles of the teams' best scores at evenly spaced times."""
    times = [[entry.submitted_at for entry in steps] for steps in others]
    levels = []
    for number in range(BAND_TIMES + 1):
        at = start + (until - start) * (number / BAND_TIMES)
        places = [bisect_right(each, at) for each in times]
        units = sorted(
            steps[place - 1].score_units for steps, place in zip(others, places, strict=True) if place
        )
        if units:
            low, middle, high = (units[round(share * (len(units) - 1))] for share in (0.1, 0.5, 0.9))
            levels.append(BandLevel(at, low, middle, high))
    return tuple(levels)


def _drawn_band(band: Sequence[BandLevel], plot: Plot) -> Iterator[str]:
    low, middle, high = (
        [plot.place(level.at.timestamp(), getattr(level, name)) for level in band]
        for name in ("low", "middle", "high")
    )
    yield f'<polygon class="band" points="{points([*high, *reversed(low)])}"/>'
    yield polyline("band-middle", middle)


def _places(steps: Iterable[TeamEntry], plot: Plot) -> list[Place]:
    return [plot.place(step.submitted_at.timestamp(), step.score_units) for step in steps]


def _score_axis(teams: Sequence[Steps], others: Sequence[Sequence[TeamEntry]], scale: Scale) -> Axis:
    """Return an axis that separates the teams' latest scores despite very low first scores."""
    top = max(team.steps[-1].score_units for team in teams)
    ends = [steps[-1].score_units for steps in (*(team.steps for team in teams), *others)]
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
    area, marks = plot.frame.area, time_marks(start, until)
    has_hours = any(":" in written for _, written in marks)

    def shown(css: str, at: float, moment: datetime, words: str, form: str) -> str:
        data = {"time": moment.isoformat(), "form": form} if has_hours else {}
        return text(css, at, area.bottom + 20, words, data)

    every = -(-len(marks) // NARROW_TIME_MARKS) if plot.frame.css == NARROW.css else 1
    for moment, written in marks[::every] if marks else ():
        at = area.x(plot.x, moment.timestamp())
        yield f'<path class="rule" d="M{at:.1f} {area.bottom}v5"/>'
        yield shown("tick", at, moment, written, "axis")
    yield shown("tick at-start", 4, start, "UTC", "zone")
    yield f'<path class="rule" d="M{area.left} {area.bottom}H{area.right}"/>'

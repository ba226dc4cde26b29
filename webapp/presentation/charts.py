"""Geometry of the leaderboard's charts: score steps over time and rank slopes, as coordinates.

Coordinates come from displayed values alone, so that a chart tells no more than its table.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from grader.ranking.order import Entry, score_text

WIDTH = 880
LABEL_GAP = 15
NAME_LENGTH = 22

STEP_HEIGHT = 340
STEP_LEFT, STEP_RIGHT, STEP_TOP, STEP_BOTTOM = 68, 700, 14, 304
FLOOR_SPREADS = 4
SMALLEST_SPREAD = 200

SLOPE_LEFT, SLOPE_RIGHT, SLOPE_TOP, SLOPE_STEP = 120, 620, 30, 17
FAR_STEPS = 8

EPOCH = datetime(2001, 1, 1, tzinfo=UTC)  # a Monday
TIME_STEPS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 30)) + tuple(
    timedelta(hours=hours) for hours in (1, 2, 6, 12, 24, 48, 168, 336, 672, 2016, 8760)
)


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: where, and its text."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart: its points, its class, and its label with the place of it."""

    points: str
    css: str
    label: str
    label_y: str
    end_y: str


@dataclass(frozen=True, slots=True)
class StepChart:
    """The best public score of teams over time; scores below `floor` are drawn at the bottom edge."""

    lines: tuple[Line, ...]
    times: tuple[Tick, ...]
    scores: tuple[Tick, ...]
    floor: str | None
    width: int = WIDTH
    height: int = STEP_HEIGHT
    left: int = STEP_LEFT
    right: int = STEP_RIGHT
    top: int = STEP_TOP
    bottom: int = STEP_BOTTOM


@dataclass(frozen=True, slots=True)
class Steps:
    """What a step chart shows of one team; `steps` is not empty."""

    rank: int
    team: str
    is_own: bool
    steps: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Slope:
    """What a slope chart shows of one team."""

    rank: int
    public_rank: int
    team: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class SlopeChart:
    """Public ranks on the left, private ones on the right."""

    lines: tuple[Line, ...]
    public_ranks: tuple[Tick, ...]
    height: int
    width: int = WIDTH
    left: int = SLOPE_LEFT
    right: int = SLOPE_RIGHT


def step_chart(teams: Sequence[Steps], *, until: datetime) -> StepChart | None:
    """Return the chart of these teams, best first, up to a time; None without any."""
    if not teams:
        return None
    start = min(team.steps[0].submitted_at for team in teams)
    until = max(until, *(team.steps[-1].submitted_at for team in teams), start + timedelta(minutes=1))
    top = max(team.steps[-1].score_units for team in teams)
    lowest_end = min(team.steps[-1].score_units for team in teams)
    lowest = min(team.steps[0].score_units for team in teams)
    floor = max(lowest, top - FLOOR_SPREADS * max(top - lowest_end, SMALLEST_SPREAD))
    if floor == top:
        floor = top - SMALLEST_SPREAD

    def x(time: datetime) -> float:
        return STEP_LEFT + (STEP_RIGHT - STEP_LEFT) * ((time - start) / (until - start))

    def y(units: int) -> float:
        return STEP_BOTTOM - (STEP_BOTTOM - STEP_TOP) * (max(units, floor) - floor) / (top - floor)

    ends = [y(team.steps[-1].score_units) for team in teams]
    places = spread(ends, gap=LABEL_GAP, lowest=STEP_TOP, highest=STEP_BOTTOM)
    lines = [
        Line(
            points=_points(_corners(team.steps, x, y, until)),
            css=f"s{number % 10}{' own' if team.is_own else ''}",
            label=f"{team.rank}. {shortened(team.team)}",
            label_y=_at(place),
            end_y=_at(end),
        )
        for number, (team, end, place) in enumerate(zip(teams, ends, places, strict=True))
    ]
    return StepChart(
        lines=tuple(lines),
        times=tuple(Tick(_at(x(time)), text) for time, text in _time_ticks(start, until)),
        scores=tuple(Tick(_at(y(units)), score_text(units)) for units in _score_ticks(floor, top)),
        floor=score_text(floor) if lowest < floor else None,
    )


def slope_chart(teams: Sequence[Slope]) -> SlopeChart | None:
    """Return the chart of these teams; ranks past the last row share a compressed zone. None without any."""
    if not teams:
        return None
    ranks = sorted({team.rank for team in teams})
    row_count = next((place for place, rank in enumerate(ranks) if rank != place + 1), len(ranks))
    last = max(max(team.rank, team.public_rank) for team in teams)
    far = FAR_STEPS if last > row_count else 0

    def y(rank: int) -> float:
        if rank <= row_count:
            return SLOPE_TOP + SLOPE_STEP * (rank - 1)
        share = math.log(rank / max(1, row_count)) / math.log(last / max(1, row_count))
        return SLOPE_TOP + SLOPE_STEP * (row_count + (far - 1) * share)

    bottom = SLOPE_TOP + SLOPE_STEP * (row_count + far)
    lefts = spread([y(team.public_rank) for team in teams], gap=13, lowest=SLOPE_TOP, highest=bottom)
    lines = [
        Line(
            points=f"{SLOPE_LEFT},{_at(y(team.public_rank))} {SLOPE_RIGHT},{_at(y(team.rank))}",
            css=_direction(team),
            label=f"{team.rank}. {shortened(team.team)}",
            label_y=_at(y(team.rank)),
            end_y=_at(y(team.rank)),
        )
        for team in teams
    ]
    return SlopeChart(
        lines=tuple(lines),
        public_ranks=tuple(
            Tick(_at(place), f"{team.public_rank:,}") for team, place in zip(teams, lefts, strict=True)
        ),
        height=bottom + SLOPE_STEP,
    )


def spread(wanted: Sequence[float], *, gap: float, lowest: float, highest: float) -> list[float]:
    """Return places near the wanted ones, in the same order, that keep a gap where the room allows it."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    gap = min(gap, (highest - lowest) / max(1, len(wanted) - 1))
    places = [0.0] * len(wanted)
    at = lowest
    for index in order:
        places[index] = at = max(at, wanted[index])
        at += gap
    at = highest
    for index in reversed(order):
        places[index] = at = min(at, places[index])
        at -= gap
    return places


def shortened(name: str) -> str:
    """Return a name that fits beside a line."""
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1].rstrip() + "…"


def _direction(team: Slope) -> str:
    change = team.public_rank - team.rank
    direction = "rose" if change > 0 else "fell" if change < 0 else "stayed"
    return f"{direction} own" if team.is_own else direction


def _corners(
    steps: Iterable[Entry], x: Callable[[datetime], float], y: Callable[[int], float], until: datetime
) -> Iterable[tuple[float, float]]:
    before: float | None = None
    for step in steps:
        at, height = x(step.submitted_at), y(step.score_units)
        if before is not None:
            yield at, before
        yield at, height
        before = height
    if before is not None:
        yield x(until), before


def _time_ticks(start: datetime, until: datetime) -> Iterable[tuple[datetime, str]]:
    step = next((each for each in TIME_STEPS if (until - start) / each <= 6), TIME_STEPS[-1])
    tick = EPOCH + math.ceil((start - EPOCH) / step) * step
    while tick <= until:
        yield tick, f"{tick:%H:%M}" if step < timedelta(days=1) and tick.hour else f"{tick.day} {tick:%b}"
        tick += step


def _score_ticks(floor: int, top: int) -> range:
    widths = (width * 10**power for power in range(6) for width in (1, 2, 5))
    width = next(width for width in widths if (top - floor) / width <= 5)
    return range(-(-floor // width) * width, top + 1, width)


def _points(corners: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_at(x)},{_at(y)}" for x, y in corners)


def _at(place: float) -> str:
    return f"{place:.1f}"

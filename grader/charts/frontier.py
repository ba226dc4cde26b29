"""Scatter plot of accuracy against fairness, with the Pareto front.

Each point is the displayed result of a team, or of teams with almost the same results: overall AUC and worst
bias term, or the score and the value of the worst group.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.charts.svg import (
    NARROW,
    WIDE,
    Axis,
    Place,
    Plot,
    circle,
    polyline,
    robust_floor,
    stairs,
    writer,
)
from grader.text import counted

CELL = 6  # teams that are closer to each other have one point
LABELLED = 8
FIRST = 4  # number of labeled teams if the Pareto front is shorter
SMALLEST_SPREAD = 0.0015
LARGEST = 1e15  # larger values are shown at this value, so that differences of values stay finite


@dataclass(frozen=True, slots=True)
class Cloud:
    """The viewer-independent part of the chart: axes, teams on the Pareto front, and rendered teams.

    A spot is a team's accuracy and fairness, as displayed; both are negated if the lowest values are best.
    `best` contains indices into `spots`. `drawn` is the SVG of the teams for the wide and the narrow chart.
    `outside` is the number of teams below the axes, which are not rendered.
    """

    spots: Sequence[Place]
    x: Axis
    y: Axis
    best: tuple[int, ...]
    drawn: tuple[str, str]
    outside: int


def front(spots: Sequence[Place]) -> list[int]:
    """Return the indices of the spots on the Pareto front, in descending order of overall AUC."""
    kept: list[int] = []
    for place in sorted(range(len(spots)), key=spots.__getitem__, reverse=True):
        if not kept or spots[place][1] > spots[kept[-1]][1]:
            kept.append(place)
    return kept


def cloud(spots: Sequence[Place], names: tuple[str, str], *, is_lowest_best: bool = False) -> Cloud | None:
    """Render all teams for both widths; return None if there are no teams."""
    if not spots:
        return None
    sign = -1 if is_lowest_best else 1
    spots = [(sign * max(min(a, LARGEST), -LARGEST), sign * max(min(b, LARGEST), -LARGEST)) for a, b in spots]
    x, y = (_axis(name, values, sign) for name, values in zip(names, zip(*spots, strict=True), strict=True))
    shown = [(a, b) for a, b in spots if a >= x.low and b >= y.low]
    wide, narrow = ("".join(_teams(shown, Plot.fitting(frame, x, y))) for frame in (WIDE, NARROW))
    return Cloud(spots, x, y, tuple(front(spots)), (wide, narrow), len(spots) - len(shown))


def labeled(drawn: Cloud, own: int | None = None) -> list[int]:
    """Return the indices of the labeled spots: the viewer's team, the Pareto front and the first ranks."""
    best = list(drawn.best[: LABELLED - 1])
    first = [place for place in range(min(FIRST, len(drawn.spots))) if place not in best]
    indices = best + first[: max(0, FIRST - len(best))]
    return indices if own is None or own in indices else [own, *indices]


def frontier_chart(drawn: Cloud, *, names: Mapping[int, str], own: int | None) -> tuple[str, str]:
    """Render the scatter plot with the Pareto front, team names and the viewer's team, in both widths."""
    wide, narrow = (
        _drawn(Plot.fitting(frame, drawn.x, drawn.y), drawn, teams, names, own)
        for frame, teams in zip((WIDE, NARROW), drawn.drawn, strict=True)
    )
    return wide, narrow


def _drawn(plot: Plot, drawn: Cloud, teams: str, names: Mapping[int, str], own: int | None) -> str:
    frame = plot.frame
    best = [plot.place(*drawn.spots[number]) for number in drawn.best]
    parts = [*plot.levels(), *plot.foot(), teams]
    parts.append(polyline("front", stairs([(best[0][0], frame.bottom), *best], frame.left)))
    parts += [circle("dot best", each, 4.5) for each in best]
    named = list(names)[:LABELLED]
    places = [plot.place(*drawn.spots[number]) for number in named]
    heights = frame.heights([y for _, y in places])
    for number, place, height in zip(named, places, heights, strict=True):
        parts += frame.named(" own" if number == own else "", place, height, names[number])
    if own is not None:
        parts.append(circle("dot own", plot.place(*drawn.spots[own]), 6))
    description = (
        f"Scatter plot of two values for {counted(len(drawn.spots), 'team')}, with the Pareto front: "
        f"{drawn.x.name} and {drawn.y.name}. The table below contains the values."
    )
    return frame.picture("chart frontier", description, parts)


def _teams(spots: Sequence[Place], plot: Plot) -> Iterator[str]:
    places = (plot.place(*spot) for spot in spots)
    for place in {(a // CELL, b // CELL): (a, b) for a, b in places}.values():
        yield circle("dot", place, 4)


def _axis(name: str, values: Sequence[float], sign: int) -> Axis:
    """Return an axis that ends just above the best value and excludes outliers."""
    top, low = max(values), robust_floor(values, least=SMALLEST_SPREAD)
    room = (top - low) * 0.06 or abs(top) * 0.002 or 0.002
    return Axis(name, low - room, top + room, write=writer(top - low + 2 * room, sign))

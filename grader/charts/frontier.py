"""Scatter plot of overall AUC against worst bias term, with the Pareto front.

Each point is the displayed result of a team, or of teams with almost the same results.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.charts.svg import NARROW, WIDE, Area, Axis, foot, levels, polyline, robust_floor

CELL = 6  # teams that are closer to each other have one point
LABELLED = 8
SMALLEST_SPREAD = 0.0015


@dataclass(frozen=True, slots=True)
class Spot:
    """A team's overall AUC and worst bias term, both as displayed."""

    overall: float
    worst: float


@dataclass(frozen=True, slots=True)
class Cloud:
    """The viewer-independent part of the chart: axes, teams on the Pareto front, and rendered teams.

    `best` contains indices into `spots`. `drawn` is the SVG of the teams for the wide and the narrow chart.
    `outside` is the number of teams below the axes, which are not rendered.
    """

    spots: Sequence[Spot]
    x: Axis
    y: Axis
    best: tuple[int, ...]
    drawn: tuple[str, str]
    outside: int


def front(spots: Sequence[Spot]) -> list[int]:
    """Return the indices of the spots on the Pareto front, in descending order of overall AUC."""
    order = sorted(range(len(spots)), key=lambda place: (-spots[place].overall, -spots[place].worst))
    kept: list[int] = []
    for place in order:
        if not kept or spots[place].worst > spots[kept[-1]].worst:
            kept.append(place)
    return kept


def cloud(spots: Sequence[Spot]) -> Cloud | None:
    """Render all teams for both widths; return None if there are no teams."""
    if not spots:
        return None
    best = front(spots)
    x = _axis("Overall AUC", [spot.overall for spot in spots])
    y = _axis("Worst bias term", [spot.worst for spot in spots])
    shown = [spot for spot in spots if spot.overall >= x.low and spot.worst >= y.low]
    wide, narrow = ("".join(_teams(shown, x, y, area)) for area in (WIDE.area, NARROW.area))
    return Cloud(spots, x, y, tuple(best), (wide, narrow), len(spots) - len(shown))


def frontier_chart(
    drawn: Cloud, *, names: Mapping[int, str], own: int | None, is_narrow: bool = False
) -> str:
    """Render the scatter plot with the Pareto front, team names and the viewer's team."""
    frame = NARROW if is_narrow else WIDE
    area = frame.area

    def place(number: int) -> tuple[float, float]:
        spot = drawn.spots[number]
        return area.x(drawn.x, max(spot.overall, drawn.x.low)), area.y(drawn.y, max(spot.worst, drawn.y.low))

    best = [place(number) for number in drawn.best]
    parts = [*levels(drawn.y, area), *foot(drawn.x, area), drawn.drawn[is_narrow]]
    parts.append(polyline("front", _stairs(best, area)))
    parts += [f'<circle class="dot best" cx="{a:.1f}" cy="{b:.1f}" r="4.5"/>' for a, b in best]
    named = list(names)[:LABELLED]
    wanted = [place(number) for number in named]
    heights = frame.heights([y for _, y in wanted])
    for number, at, height in zip(named, wanted, heights, strict=True):
        parts += frame.named(" own" if number == own else "", at, height, names[number])
    if own is not None:
        x, y = place(own)
        parts.append(f'<circle class="dot own" cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
    count = "1 team" if len(drawn.spots) == 1 else f"{len(drawn.spots):,} teams"
    description = (
        f"Scatter plot of worst bias term against overall AUC for {count}, with the Pareto front. "
        "The table below contains the values."
    )
    return frame.picture("chart frontier", description, parts)


def _teams(spots: Sequence[Spot], x: Axis, y: Axis, area: Area) -> Iterator[str]:
    places = ((area.x(x, spot.overall), area.y(y, spot.worst)) for spot in spots)
    for a, b in {(a // CELL, b // CELL): (a, b) for a, b in places}.values():
        yield f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="4"/>'


def _axis(name: str, values: Sequence[float]) -> Axis:
    """Return an axis that ends just above the best value and excludes low outliers."""
    top, low = max(values), robust_floor(values, least=SMALLEST_SPREAD)
    room = (top - low) * 0.06 or 0.002
    return Axis(name, low - room, top + room, write=lambda value: f"{value:.3f}")


def _stairs(best: Sequence[tuple[float, float]], area: Area) -> list[tuple[float, float]]:
    """Return the step line of the Pareto front, from the bottom right to the left edge."""
    if not best:
        return []
    corners = [(best[0][0], float(area.bottom))]
    for x, y in best:
        corners += [(x, corners[-1][1]), (x, y)]
    return [*corners, (float(area.left), best[-1][1])]

"""Scatter plot of overall AUC against worst bias term, with the Pareto front.

Each point is the displayed result of a team. Large numbers of teams are rendered as a grid of shaded squares.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.charts.svg import (
    Area,
    Axis,
    foot,
    label,
    levels,
    picture,
    polyline,
    robust_floor,
    shortened,
    spread,
)

WIDTH, HEIGHT = 640, 400
AREA = Area(left=66, right=470, top=14, bottom=346)
NARROW_WIDTH, NARROW_HEIGHT = 360, 340
NARROW_AREA = Area(left=62, right=252, top=14, bottom=286)
NARROW_NAME_LENGTH = 12
MOST_POINTS = 300
SQUARE = 9
SHADES = 5
LABELLED = 8
LABEL_GAP = 15
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
    wide, narrow = ("".join(_teams(shown, x, y, area)) for area in (AREA, NARROW_AREA))
    return Cloud(spots, x, y, tuple(best), (wide, narrow), len(spots) - len(shown))


def frontier_chart(
    drawn: Cloud, *, names: Mapping[int, str], own: int | None, is_narrow: bool = False
) -> str:
    """Render the scatter plot with the Pareto front, team names and the viewer's team."""
    area = NARROW_AREA if is_narrow else AREA

    def place(number: int) -> tuple[float, float]:
        spot = drawn.spots[number]
        return area.x(drawn.x, max(spot.overall, drawn.x.low)), area.y(drawn.y, max(spot.worst, drawn.y.low))

    best = [place(number) for number in drawn.best]
    parts = [*levels(drawn.y, area), *foot(drawn.x, area), drawn.drawn[is_narrow]]
    parts.append(polyline("front", _stairs(best, area)))
    parts += [f'<circle class="dot best" cx="{a:.1f}" cy="{b:.1f}" r="4.5"/>' for a, b in best]
    named = list(names)[:LABELLED]
    wanted = [place(number) for number in named]
    heights = spread([y for _, y in wanted], gap=LABEL_GAP, lowest=area.top, highest=area.bottom)
    for number, (x, y), height in zip(named, wanted, heights, strict=True):
        css = " own" if number == own else ""
        name = shortened(names[number], NARROW_NAME_LENGTH) if is_narrow else shortened(names[number])
        parts.append(polyline(f"leader{css}", [(x, y), (area.right + 4, height), (area.right + 10, height)]))
        parts.append(label(f"label{css}", area.right + 14, height, name))
    if own is not None:
        x, y = place(own)
        parts.append(f'<circle class="dot own" cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
    count = "1 team" if len(drawn.spots) == 1 else f"{len(drawn.spots):,} teams"
    description = (
        f"Scatter plot of worst bias term against overall AUC for {count}, with the Pareto front. "
        "The table below contains the values."
    )
    size = (NARROW_WIDTH, NARROW_HEIGHT) if is_narrow else (WIDTH, HEIGHT)
    return picture("chart frontier narrow" if is_narrow else "chart frontier", description, *size, parts)


def _teams(spots: Sequence[Spot], x: Axis, y: Axis, area: Area) -> Iterator[str]:
    places = [(area.x(x, spot.overall), area.y(y, spot.worst)) for spot in spots]
    if len(spots) > MOST_POINTS:
        yield from _squares(places)
        return
    for a, b in places:
        yield f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="4"/>'


def _axis(name: str, values: Sequence[float]) -> Axis:
    """Return an axis that ends just above the best value and excludes low outliers."""
    top, low = max(values), robust_floor(values, least=SMALLEST_SPREAD)
    room = (top - low) * 0.06 or 0.002
    return Axis(name, low - room, top + room, write=lambda value: f"{value:.3f}")


def _squares(places: Sequence[tuple[float, float]]) -> Iterator[str]:
    counts = Counter((int(x // SQUARE), int(y // SQUARE)) for x, y in places)
    most = max(counts.values(), default=1)
    for (column, row), count in sorted(counts.items()):
        shade = min(SHADES - 1, int(SHADES * (count / most) ** 0.5))
        yield (
            f'<rect class="square q{shade}" x="{column * SQUARE}" y="{row * SQUARE}" '
            f'width="{SQUARE}" height="{SQUARE}"/>'
        )


def _stairs(best: Sequence[tuple[float, float]], area: Area) -> list[tuple[float, float]]:
    """Return the step line of the Pareto front, from the bottom right to the left edge."""
    if not best:
        return []
    corners = [(best[0][0], float(area.bottom))]
    for x, y in best:
        corners += [(x, corners[-1][1]), (x, y)]
    return [*corners, (float(area.left), best[-1][1])]

"""Charts with lines: over two axes, and one rate against another."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.charts.axes import Axis
from grader.charts.frame import BOX, HEIGHT, SQUARE, SQUARE_WIDTH, WIDTH, height_with_legend, legend_place
from grader.charts.svg import Place, foot, levels, picture, points, polyline, text


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart; `number` chooses its colour and dashes, so that colour alone says nothing."""

    name: str
    points: Sequence[Place]
    number: int


def line_chart(title: str, series: Sequence[Series], x: Axis, y: Axis) -> str:
    """Draw lines over two axes, with the names of the lines below.

    Parameters
    ----------
    title : str
        Read to those who cannot see the chart.
    series : sequence of Series
    x, y : Axis

    Returns
    -------
    str
        One ``svg`` element.
    """
    parts = [*levels(y, BOX), *foot(x, BOX)]
    parts += [
        polyline(f"line s{one.number}", ((BOX.x(x, a), BOX.y(y, b)) for a, b in one.points)) for one in series
    ]
    if len(series) < 2:
        return picture("chart", title, WIDTH, HEIGHT, parts)
    for place, one in enumerate(series):
        left, top = legend_place(place)
        parts.append(f'<path class="line s{one.number}" d="M{left} {top}h22"/>')
        parts.append(text("name", left + 28, top + 4, one.name))
    return picture("chart", title, WIDTH, height_with_legend(len(series)), parts)


def rate_chart(
    title: str,
    curve: Sequence[Place],
    x_name: str,
    y_name: str,
    mark: tuple[float, float, str],
) -> str:
    """Draw a curve of two rates against the diagonal, the area between them shaded, and one point marked.

    The mark's two rates stand before its text, which is written below the chart.
    """
    x, y = Axis(x_name, 0, 1), Axis(y_name, 0, 1)
    places = [(SQUARE.x(x, a), SQUARE.y(y, b)) for a, b in curve]
    a, b, note = mark
    at, height = SQUARE.x(x, a), SQUARE.y(y, b)
    foot_of_gap = SQUARE.y(y, a)  # on the diagonal, at the same rate of the subgroup
    parts = [
        *levels(y, SQUARE),
        *foot(x, SQUARE),
        f'<polygon class="between" points="{points(places)}"/>',
        f'<path class="diagonal" d="M{SQUARE.left} {SQUARE.bottom}L{SQUARE.right} {SQUARE.top}"/>',
        f'<path class="gap" d="M{at:.1f} {foot_of_gap:.1f}V{height:.1f}"/>',
        polyline("line s0", places),
        f'<circle class="mark" cx="{at:.1f}" cy="{height:.1f}" r="4"/>',
        f'<circle class="mark" cx="{SQUARE.left + 4}" cy="{HEIGHT + 4}" r="4"/>',
        text("name", SQUARE.left + 14, HEIGHT + 8, note),
    ]
    return picture("chart square", f"{title}. {note}.", SQUARE_WIDTH, HEIGHT + 16, parts)


def outline(edges: Sequence[float], heights: Sequence[float]) -> list[Place]:
    """Return the points of a histogram drawn as one line."""
    points = [(edges[0], 0.0)]
    for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
        points += [(left, height), (right, height)]
    return [*points, (edges[-1], 0.0)]

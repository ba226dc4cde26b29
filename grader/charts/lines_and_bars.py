"""Charts for reports: line, rate and bar charts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.charts.svg import Axis, Frame, Place, Plot, circle, points, polyline, text

BOX = Frame(420, 280, left=58, right=408, top=14, bottom=234)
SQUARE = BOX._replace(width=290, right=BOX.left + BOX.bottom - BOX.top)
LEGEND_STEP, SAMPLE_WIDTH = 18, 22


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart; `number` selects its color and dash pattern."""

    name: str
    points: Sequence[Place]
    number: int


def line_chart(title: str, series: Sequence[Series], x: Axis, y: Axis) -> str:
    """Render a line chart, with a legend below if it has several lines.

    Screen readers announce the title.
    """
    plot = Plot(BOX, x, y)
    parts = [*plot.levels(), *plot.foot()]
    parts += [
        polyline(f"line s{one.number}", ((plot.across(a), plot.down(b)) for a, b in one.points))
        for one in series
    ]
    names = [one.name for one in series] if len(series) > 1 else []
    return _with_legend(
        title,
        parts,
        names,
        lambda place, x, y: f'<path class="line s{series[place].number}" d="M{x} {y}h{SAMPLE_WIDTH}"/>',
    )


def rate_chart(
    title: str, curve: Sequence[Place], x_name: str, y_name: str, mark: tuple[float, float, str]
) -> str:
    """Render a curve of two rates, with the diagonal, the area between them and a marked point.

    `mark` contains the two rates of the point and its label, which appears below the chart.
    """
    plot = Plot(SQUARE, Axis(x_name, 0, 1), Axis(y_name, 0, 1))
    line = points((plot.across(a), plot.down(b)) for a, b in curve)
    a, b, note = mark
    at, height = plot.across(a), plot.down(b)
    parts = [
        *plot.levels(),
        *plot.foot(),
        f'<polygon class="between" points="{line}"/>',
        f'<path class="diagonal" d="M{SQUARE.left} {SQUARE.bottom}L{SQUARE.right} {SQUARE.top}"/>',
        # The foot of the gap is on the diagonal, at the same subgroup rate.
        f'<path class="gap" d="M{at:.1f} {plot.down(a):.1f}V{height:.1f}"/>',
        f'<polyline class="line s0" points="{line}"/>',
        circle("mark", (at, height), 4),
        circle("mark", (SQUARE.left + 4, SQUARE.height + 4), 4),
        text("name", SQUARE.left + 14, SQUARE.height + 8, note),
    ]
    return SQUARE._replace(height=SQUARE.height + 16).picture("chart square", f"{title}. {note}.", parts)


def outline(edges: Sequence[float], heights: Sequence[float]) -> list[Place]:
    """Return the outline of a histogram as a list of points."""
    points = [(edges[0], 0.0)]
    for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
        points += [(left, height), (right, height)]
    return [*points, (edges[-1], 0.0)]


def bar_chart(
    title: str,
    groups: Sequence[tuple[str, Sequence[float | None]]],
    names: Sequence[str],
    axis: Axis,
    x_name: str = "",
) -> str:
    """Render a grouped vertical bar chart with a legend below.

    Each group has one value for each name; None means that there is no bar.
    """
    plot, step = Plot(BOX, Axis(x_name, 0, 1), axis), (BOX.right - BOX.left) / max(len(groups), 1)
    parts = [*plot.levels()]
    for place, (label, values) in enumerate(groups):
        width = step * 0.76 / max(len(values), 1)
        for number, value in enumerate(values):
            if value is not None:
                top, left = plot.down(value), BOX.left + step * (place + 0.12) + width * number
                parts.append(_bar(number, left, top, width, max(BOX.bottom - top, 0)))
        parts.append(text("tick", BOX.left + step * (place + 0.5), BOX.bottom + 14, label))
    parts.append(plot.foot_name())
    return _with_legend(title, parts, names, lambda number, x, y: _bar(number, x, y - 6, SAMPLE_WIDTH, 12))


def _bar(number: int, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="bar s{number}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def _with_legend(
    title: str, parts: list[str], names: Sequence[str], sample: Callable[[int, float, float], str]
) -> str:
    """Return a chart with a legend below, in two columns; `sample` renders an entry's sign at x and y."""
    for number, name in enumerate(names):
        left, top = BOX.left + (number % 2) * 180, BOX.height - 4 + LEGEND_STEP * (number // 2)
        parts += [sample(number, left, top), text("name", left + SAMPLE_WIDTH + 6, top + 4, name)]
    height = BOX.height + LEGEND_STEP * ((len(names) + 1) // 2)
    return BOX._replace(height=height).picture("chart", title, parts)

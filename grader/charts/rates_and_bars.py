"""Charts for reports: curves of two rates, and bars."""

from collections.abc import Sequence

from grader.charts.svg import Axis, Frame, Place, Plot, circle, points, text

BOX = Frame(420, 280, left=58, right=408, top=14, bottom=234)
SQUARE = BOX._replace(width=290, right=BOX.left + BOX.bottom - BOX.top)
LEGEND_STEP, SAMPLE_WIDTH = 18, 22


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
        f'<polyline class="line" points="{line}"/>',
        circle("mark", (at, height), 4),
        circle("mark", (SQUARE.left + 4, SQUARE.height + 4), 4),
        text("name", SQUARE.left + 14, SQUARE.height + 8, note),
    ]
    return SQUARE._replace(height=SQUARE.height + 16).picture("chart square", f"{title}. {note}.", parts)


def bar_chart(
    title: str,
    groups: Sequence[tuple[str, Sequence[float | None]]],
    names: Sequence[str],
    axis: Axis,
    x_name: str = "",
) -> str:
    """Render a grouped vertical bar chart with a legend below, in two columns.

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
    for number, name in enumerate(names):
        left, top = BOX.left + (number % 2) * 180, BOX.height - 4 + LEGEND_STEP * (number // 2)
        sample = _bar(number, left, top - 6, SAMPLE_WIDTH, 12)
        parts += [sample, text("name", left + SAMPLE_WIDTH + 6, top + 4, name)]
    height = BOX.height + LEGEND_STEP * ((len(names) + 1) // 2)
    return BOX._replace(height=height).picture("chart", title, parts)


def _bar(number: int, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="bar s{number}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'

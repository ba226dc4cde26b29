"""Charts with upright bars, alone or in groups side by side."""

from collections.abc import Iterable, Sequence

from grader.charts.axes import Axis
from grader.charts.frame import BOX, WIDTH, height_with_legend, legend_place
from grader.charts.svg import foot_name, levels, picture, text


def bar_chart(title: str, bars: Sequence[tuple[str, float]], axis: Axis, x_name: str = "") -> str:
    """Draw upright bars from the foot of the axis, each with its name below."""
    return grouped_bar_chart(title, [(name, (value,)) for name, value in bars], (), axis, x_name)


def grouped_bar_chart(
    title: str,
    groups: Sequence[tuple[str, Sequence[float | None]]],
    names: Sequence[str],
    axis: Axis,
    x_name: str = "",
) -> str:
    """Draw groups of upright bars side by side, with the names of the bars of a group below.

    A group has a value for each name, None for no bar.
    """
    step = (BOX.right - BOX.left) / max(len(groups), 1)
    parts = [*levels(axis, BOX)]
    for place, (label, values) in enumerate(groups):
        parts += _bars(values, axis, BOX.left + step * (place + 0.12), step * 0.76)
        parts.append(text("tick", BOX.left + step * (place + 0.5), BOX.bottom + 14, label))
    parts.append(foot_name(x_name, BOX))
    for number, name in enumerate(names):
        left, top = legend_place(number)
        parts.append(_bar(number, left, top - 6, 12, 12))
        parts.append(text("name", left + 18, top + 4, name))
    return picture("chart", title, WIDTH, height_with_legend(len(names)), parts)


def _bars(values: Sequence[float | None], axis: Axis, left: float, width: float) -> Iterable[str]:
    each = width / max(len(values), 1)
    for number, value in enumerate(values):
        if value is not None:
            top = BOX.y(axis, value)
            yield _bar(number, left + each * number, top, each, max(BOX.bottom - top, 0))


def _bar(number: int, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="bar s{number}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'

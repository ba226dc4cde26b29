"""Charts as inline SVG: classes and attributes only, so that a strict policy lets them through."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 420, 280
LEFT, RIGHT, TOP, BOTTOM = 58, 408, 14, 234
SQUARE_WIDTH = WIDTH - RIGHT + LEFT + BOTTOM - TOP
STEPS = 4
ROUND_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart; `number` chooses its colour and dashes, so that colour alone says nothing."""

    name: str
    points: Sequence[tuple[float, float]]
    number: int


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows, and from where to where; on a logarithmic one both ends are above 0."""

    name: str
    low: float
    high: float
    is_logarithmic: bool = False

    @classmethod
    def around(cls, name: str, values: Iterable[float]) -> "Axis":
        """Return an axis that holds all values with a little room."""
        found = list(values) or [0.0, 1.0]
        low, high = min(found), max(found)
        room = (high - low) * 0.05 or 0.05
        return cls(name, low - room, high + room)

    def place(self, value: float, start: float, end: float) -> float:
        """Return where a value lies between two coordinates."""
        if self.is_logarithmic:
            value = max(value, self.low)  # nothing has no logarithm: it is the foot of the axis
            return start + (end - start) * math.log(value / self.low) / math.log(self.high / self.low)
        # Halved, for the range of two finite numbers may not be one.
        return start + (end - start) * ((value / 2 - self.low / 2) / (self.high / 2 - self.low / 2))

    def ticks(self) -> list[float]:
        """Return evenly spaced round values, or the powers of ten."""
        if self.is_logarithmic:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            return [10.0**power for power in range(first, last + 1)]
        wanted = self.high / STEPS - self.low / STEPS
        power = 10.0 ** math.floor(math.log10(wanted))
        step = next(factor * power for factor in ROUND_STEPS if factor * power >= wanted * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


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
    parts = [*_frame(x, y, RIGHT)]
    for one in series:
        points = " ".join(
            f"{x.place(a, LEFT, RIGHT):.1f},{y.place(b, BOTTOM, TOP):.1f}" for a, b in one.points
        )
        parts.append(f'<polyline class="line s{one.number}" points="{points}"/>')
    rows = _legends(series) if len(series) > 1 else []
    height = HEIGHT + 18 * ((len(rows) + 1) // 2)
    return _svg(title, WIDTH, height, parts + rows)


def rate_chart(
    title: str,
    points: Sequence[tuple[float, float]],
    x_name: str,
    y_name: str,
    mark: tuple[float, float, str],
) -> str:
    """Draw a curve of two rates against the diagonal, the area between them shaded, and one point marked.

    The mark's two rates stand before its text, which is written below the chart.
    """
    x, y = Axis(x_name, 0, 1), Axis(y_name, 0, 1)
    right = LEFT + BOTTOM - TOP
    places = [(x.place(a, LEFT, right), y.place(b, BOTTOM, TOP)) for a, b in points]
    drawn = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    a, b, text = mark
    at, height = x.place(a, LEFT, right), y.place(b, BOTTOM, TOP)
    foot = y.place(a, BOTTOM, TOP)  # of the diagonal, at the same rate of the subgroup
    parts = [
        *_frame(x, y, right),
        f'<polygon class="between" points="{drawn}"/>',
        f'<path class="diagonal" d="M{LEFT} {BOTTOM}L{right} {TOP}"/>',
        f'<path class="gap" d="M{at:.1f} {foot:.1f}V{height:.1f}"/>',
        f'<polyline class="line s0" points="{drawn}"/>',
        f'<circle class="mark" cx="{at:.1f}" cy="{height:.1f}" r="4"/>',
        f'<circle class="mark" cx="{LEFT + 4}" cy="{HEIGHT + 4}" r="4"/>',
        f'<text class="name" x="{LEFT + 14}" y="{HEIGHT + 8}">{escape(text)}</text>',
    ]
    return _svg(f"{title}. {text}.", SQUARE_WIDTH, HEIGHT + 16, parts)


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
    step = (RIGHT - LEFT) / max(len(groups), 1)
    parts = [*_levels(axis, RIGHT)]
    for place, (label, values) in enumerate(groups):
        left, width = LEFT + step * (place + 0.12), step * 0.76 / max(len(values), 1)
        for number, value in enumerate(values):
            if value is None:
                continue
            top = axis.place(value, BOTTOM, TOP)
            parts.append(
                f'<rect class="bar s{number}" x="{left + width * number:.1f}" y="{top:.1f}" '
                f'width="{width:.1f}" height="{max(BOTTOM - top, 0):.1f}"/>'
            )
        middle = LEFT + step * (place + 0.5)
        parts.append(f'<text class="tick" x="{middle:.1f}" y="{BOTTOM + 14}">{escape(label)}</text>')
    parts.append(f'<text class="axis" x="{(LEFT + RIGHT) / 2:.0f}" y="{BOTTOM + 32}">{escape(x_name)}</text>')
    rows = [_square_legend(name, number) for number, name in enumerate(names)]
    return _svg(title, WIDTH, HEIGHT + 18 * ((len(rows) + 1) // 2), parts + rows)


def outline(edges: Sequence[float], heights: Sequence[float]) -> list[tuple[float, float]]:
    """Return the points of a histogram drawn as one line."""
    points = [(edges[0], 0.0)]
    for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
        points += [(left, height), (right, height)]
    return [*points, (edges[-1], 0.0)]


def _frame(x: Axis, y: Axis, right: float) -> Iterable[str]:
    yield from _levels(y, right)
    for value in x.ticks():
        at = x.place(value, LEFT, right)
        yield f'<text class="tick" x="{at:.1f}" y="{BOTTOM + 14}">{_short(value)}</text>'
    yield f'<text class="axis" x="{(LEFT + right) / 2:.0f}" y="{BOTTOM + 32}">{escape(x.name)}</text>'


def _levels(y: Axis, right: float) -> Iterable[str]:
    for value in y.ticks():
        at = y.place(value, BOTTOM, TOP)
        yield f'<path class="level" d="M{LEFT} {at:.1f}H{right}"/>'
        yield f'<text class="level-text" x="{LEFT - 6}" y="{at + 3:.1f}">{_short(value)}</text>'
    middle = (TOP + BOTTOM) / 2
    yield f'<text class="axis" transform="translate(11 {middle:.0f}) rotate(-90)">{escape(y.name)}</text>'


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _legends(series: Sequence[Series]) -> list[str]:
    parts = []
    for place, one in enumerate(series):
        left, top = _legend_place(place)
        parts.append(
            f'<path class="line s{one.number}" d="M{left} {top}h22"/>'
            f'<text class="name" x="{left + 28}" y="{top + 4}">{escape(one.name)}</text>'
        )
    return parts


def _square_legend(name: str, place: int) -> str:
    left, top = _legend_place(place)
    return (
        f'<rect class="bar s{place}" x="{left}" y="{top - 6}" width="12" height="12"/>'
        f'<text class="name" x="{left + 18}" y="{top + 4}">{escape(name)}</text>'
    )


def _legend_place(place: int) -> tuple[int, int]:
    return LEFT + (place % 2) * 180, HEIGHT - 4 + 18 * (place // 2)


def _svg(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    css = "chart" if width == WIDTH else "chart square"
    return (
        f'<svg class="{css}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )

"""Charts as inline SVG: classes and attributes only, so that a strict policy lets them through."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 420, 280
LEFT, RIGHT, TOP, BOTTOM = 52, 408, 14, 234
TICKS = 5


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
        return start + (end - start) * (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Return evenly spaced values, both ends among them, or the powers of ten."""
        if self.is_logarithmic:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            return [10.0**power for power in range(first, last + 1)]
        return [self.low + (self.high - self.low) * step / (TICKS - 1) for step in range(TICKS)]


def line_chart(
    title: str,
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    *,
    has_diagonal: bool = False,
    marks: Sequence[tuple[float, float, str]] = (),
) -> str:
    """Draw lines over two axes, with the names of the lines below.

    Parameters
    ----------
    title : str
        Read to those who cannot see the chart.
    series : sequence of Series
    x, y : Axis
    has_diagonal : bool
        Whether to draw the line from end to end.
    marks : sequence of (x, y, text)
        Points to be marked.

    Returns
    -------
    str
        One ``svg`` element.
    """
    parts = [*_frame(x, y)]
    if has_diagonal:
        parts.append(f'<path class="diagonal" d="M{LEFT} {BOTTOM}L{RIGHT} {TOP}"/>')
    for one in series:
        points = " ".join(
            f"{x.place(a, LEFT, RIGHT):.1f},{y.place(b, BOTTOM, TOP):.1f}" for a, b in one.points
        )
        parts.append(f'<polyline class="line s{one.number}" points="{points}"/>')
    for a, b, text in marks:
        at = f'cx="{x.place(a, LEFT, RIGHT):.1f}" cy="{y.place(b, BOTTOM, TOP):.1f}"'
        parts.append(f'<circle class="mark" {at} r="4"><title>{escape(text)}</title></circle>')
    rows = [_legend(one, place) for place, one in enumerate(series)] if len(series) > 1 else []
    height = HEIGHT + 18 * ((len(rows) + 1) // 2)
    return _svg(title, height, parts + rows)


def bar_chart(title: str, bars: Sequence[tuple[str, float]], axis: Axis, x_name: str = "") -> str:
    """Draw upright bars from the foot of the axis, each with its name below."""
    step = (RIGHT - LEFT) / max(len(bars), 1)
    parts = [*_levels(axis)]
    for place, (name, value) in enumerate(bars):
        top = axis.place(value, BOTTOM, TOP)
        at = LEFT + step * place
        parts.append(
            f'<rect class="bar" x="{at + step * 0.12:.1f}" y="{top:.1f}" width="{step * 0.76:.1f}" '
            f'height="{max(BOTTOM - top, 0):.1f}"/>'
            f'<text class="tick" x="{at + step / 2:.1f}" y="{BOTTOM + 14}">{escape(name)}</text>'
        )
    parts.append(f'<text class="axis" x="{(LEFT + RIGHT) / 2:.0f}" y="{BOTTOM + 32}">{escape(x_name)}</text>')
    return _svg(title, HEIGHT, parts)


def outline(edges: Sequence[float], heights: Sequence[float]) -> list[tuple[float, float]]:
    """Return the points of a histogram drawn as one line."""
    points = [(edges[0], 0.0)]
    for left, right, height in zip(edges[:-1], edges[1:], heights, strict=True):
        points += [(left, height), (right, height)]
    return [*points, (edges[-1], 0.0)]


def _frame(x: Axis, y: Axis) -> Iterable[str]:
    yield from _levels(y)
    for value in x.ticks():
        at = x.place(value, LEFT, RIGHT)
        yield f'<text class="tick" x="{at:.1f}" y="{BOTTOM + 14}">{_short(value)}</text>'
    yield f'<text class="axis" x="{(LEFT + RIGHT) / 2:.0f}" y="{BOTTOM + 32}">{escape(x.name)}</text>'


def _levels(y: Axis) -> Iterable[str]:
    for value in y.ticks():
        at = y.place(value, BOTTOM, TOP)
        yield f'<path class="level" d="M{LEFT} {at:.1f}H{RIGHT}"/>'
        yield f'<text class="level-text" x="{LEFT - 6}" y="{at + 3:.1f}">{_short(value)}</text>'
    middle = (TOP + BOTTOM) / 2
    yield f'<text class="axis" transform="translate(12 {middle:.0f}) rotate(-90)">{escape(y.name)}</text>'


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _legend(one: Series, place: int) -> str:
    left, top = LEFT + (place % 2) * 180, HEIGHT - 4 + 18 * (place // 2)
    return (
        f'<path class="line s{one.number}" d="M{left} {top}h22"/>'
        f'<text class="name" x="{left + 28}" y="{top + 4}">{escape(one.name)}</text>'
    )


def _svg(title: str, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )

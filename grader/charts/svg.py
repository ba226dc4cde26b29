"""Parts of a chart as SVG: lines, texts, the marks of both axes, and the picture around them."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import NamedTuple

from grader.charts.axes import Axis

Place = tuple[float, float]
NO_DATA: Mapping[str, str] = MappingProxyType({})


class Area(NamedTuple):
    """The part of a picture in which values lie, in its coordinates: `top` is less than `bottom`."""

    left: float
    right: float
    top: float
    bottom: float

    def x(self, axis: Axis, value: float) -> float:
        """Return where a value of the horizontal axis lies."""
        return axis.place(value, self.left, self.right)

    def y(self, axis: Axis, value: float) -> float:
        """Return where a value of the vertical axis lies."""
        return axis.place(value, self.bottom, self.top)


def picture(css: str, description: str, width: float, height: float, parts: Iterable[str]) -> str:
    """Return an ``svg`` element; the description is read to those who cannot see it."""
    return (
        f'<svg class="{css}" viewBox="0 0 {_at(width)} {_at(height)}" role="img" '
        f'aria-label="{escape(description)}">{"".join(parts)}</svg>'
    )


def strip(css: str, description: str, height: int, parts: Iterable[str]) -> str:
    """Return an ``svg`` element as wide as its place, for parts that lie across in percent."""
    return (
        f'<svg class="{css}" width="100%" height="{height}" role="img" aria-label="{escape(description)}">'
        f"{''.join(parts)}</svg>"
    )


def polyline(css: str, places: Iterable[Place]) -> str:
    """Return a line through places."""
    return f'<polyline class="{css}" points="{points(places)}"/>'


def points(places: Iterable[Place]) -> str:
    """Return places as lines and outlines have them."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def text(css: str, x: float, y: float, content: str, data: Mapping[str, str] = NO_DATA) -> str:
    """Return a text; its class selects the alignment, and `data` becomes its data attributes."""
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items())
    return f'<text class="{css}" x="{_at(x)}" y="{_at(y)}"{attributes}>{escape(content)}</text>'


def levels(axis: Axis, area: Area) -> Iterable[str]:
    """Yield a line across the area for each mark of the vertical axis, its text, and the axis's name."""
    for value, written in axis.marks():
        at = area.y(axis, value)
        yield f'<path class="level" d="M{_at(area.left)} {_at(at)}H{_at(area.right)}"/>'
        yield text("level-text", area.left - 6, at + 3, written)
    if axis.name:
        middle = (area.top + area.bottom) / 2
        turned = f"translate(11 {middle:.0f}) rotate(-90)"
        yield f'<text class="axis" transform="{turned}">{escape(axis.name)}</text>'


def foot(axis: Axis, area: Area) -> Iterable[str]:
    """Yield the marks of the horizontal axis, below the area, and its name."""
    for value, written in axis.marks():
        yield text("tick", area.x(axis, value), area.bottom + 14, written)
    yield foot_name(axis.name, area)


def foot_name(name: str, area: Area) -> str:
    """Return the name of the horizontal axis."""
    return text("axis", round((area.left + area.right) / 2), area.bottom + 32, name)


def _at(coordinate: float) -> str:
    return f"{round(coordinate, 1):g}"


NAME_LENGTH = 22
BASELINE = 4  # below the middle of a line of text


def label(css: str, x: float, y: float, content: str) -> str:
    """Return a text whose middle has a height."""
    return text(css, x, y + BASELINE, content)


def shortened(name: str, length: int = NAME_LENGTH) -> str:
    """Return a name that fits beside a line."""
    return name if len(name) <= length else name[: length - 1].rstrip() + "…"


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

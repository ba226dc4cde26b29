"""SVG elements for charts: axes with ticks and grid lines, text, and the root element."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from types import MappingProxyType
from typing import NamedTuple

STEPS = 4
LARGEST_WRITTEN = 1e12  # larger values are written with an exponent
CHARACTER = 7  # width of a digit in a label
SHOWN_VALUES, FLOOR_SPREADS = 3, 3
ROUND_STEPS = (1, 2, 2.5, 5, 10)

FIRST_MONDAY = datetime(2001, 1, 1, tzinfo=UTC)
TIME_MARKS = 6
TIME_STEPS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 30)) + tuple(
    timedelta(hours=hours) for hours in (1, 2, 6, 12, 24, 48, 168, 336, 672, 2016, 8760)
)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def writer(spread: float, sign: int = 1) -> Callable[[float], str]:
    """Return a function that writes values with the decimals that an axis of this length needs."""
    decimals = max(0, 1 - math.floor(math.log10(spread)))

    def write(value: float) -> str:
        value = sign * value + 0.0
        return f"{value:,.{decimals}f}" if abs(value) < LARGEST_WRITTEN else f"{value:.4g}"

    return write


def robust_floor(values: Iterable[float], *, least: float) -> float:
    """Return the lowest value that is not an outlier.

    Outliers are more than three times as far below the maximum as the median is.

    Parameters
    ----------
    values : iterable of float
        At least one value. Up to three values are never outliers.
    least : float
        Minimum that is assumed for the distance between maximum and median.

    Returns
    -------
    float
    """
    ordered = sorted(values)
    top, middle = ordered[-1], ordered[(len(ordered) - 1) // 2]
    if len(ordered) <= SHOWN_VALUES:
        return ordered[0]
    far = top - FLOOR_SPREADS * max(top - middle, least)
    return next(value for value in ordered if value >= far)


@dataclass(frozen=True, slots=True)
class Axis:
    """The name, range and scale of an axis; both ends of a logarithmic axis are above 0."""

    name: str
    low: float
    high: float
    is_logarithmic: bool = False
    write: Callable[[float], str] = _short

    @classmethod
    def around(cls, name: str, values: Iterable[float]) -> "Axis":
        """Return an axis that includes all values with a small margin."""
        known = list(values) or [0.0, 1.0]
        low, high = min(known), max(known)
        room = (high - low) * 0.05 or 0.05
        return cls(name, low - room, high + room)

    def place(self, value: float, start: float, end: float) -> float:
        """Return the position of a value between two coordinates."""
        if self.is_logarithmic:
            value = max(value, self.low)  # Zero has no logarithm, so it is placed at the end of the axis.
            return start + (end - start) * math.log(value / self.low) / math.log(self.high / self.low)
        # The terms are halved, because the difference of two finite numbers may overflow.
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

    def marks(self) -> list[tuple[float, str]]:
        """Return the tick values with their labels."""
        return [(value, self.write(value)) for value in self.ticks()]


def time_marks(start: datetime, end: datetime) -> list[tuple[datetime, str]]:
    """Return evenly spaced round times with labels: the time of day, or the date at midnight."""
    step = next((each for each in TIME_STEPS if (end - start) / each <= TIME_MARKS), TIME_STEPS[-1])
    first = math.ceil((start - FIRST_MONDAY) / step)
    moments = [FIRST_MONDAY + number * step for number in range(first, (end - FIRST_MONDAY) // step + 1)]
    shows_hours = step < timedelta(days=1)
    return [
        (at, f"{at:%H:%M}" if shows_hours and (at.hour or at.minute) else f"{at.day} {at:%b}")
        for at in moments
    ]


NAME_LENGTH = 22
Place = tuple[float, float]
NO_DATA: Mapping[str, str] = MappingProxyType({})


class Area(NamedTuple):
    """The plot area of a picture in the picture's coordinates, where `top` is less than `bottom`."""

    left: float
    right: float
    top: float
    bottom: float

    def x(self, axis: Axis, value: float) -> float:
        """Return the horizontal coordinate of a value."""
        return axis.place(value, self.left, self.right)

    def y(self, axis: Axis, value: float) -> float:
        """Return the vertical coordinate of a value."""
        return axis.place(value, self.bottom, self.top)


def picture(css: str, description: str, width: float, height: float, parts: Iterable[str]) -> str:
    """Return an ``svg`` element with a description for screen readers."""
    return (
        f'<svg class="{css}" viewBox="0 0 {_at(width)} {_at(height)}" role="img" '
        f'aria-label="{escape(description)}">{"".join(parts)}</svg>'
    )


def polyline(css: str, places: Iterable[Place]) -> str:
    """Return a ``polyline`` element through points."""
    return f'<polyline class="{css}" points="{points(places)}"/>'


def circle(css: str, place: Place, radius: float) -> str:
    """Return a ``circle`` element."""
    x, y = place
    return f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>'


def stairs(places: Iterable[Place], end: float) -> Iterator[Place]:
    """Yield the corners of a step line through places, which continues to `end` at the last height."""
    before: float | None = None
    for x, height in places:
        if before is not None and height != before:
            yield x, before
        if height != before:
            yield x, height
        before = height
    if before is not None:
        yield end, before


def points(places: Iterable[Place]) -> str:
    """Format points for the ``points`` attribute of lines and polygons."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def text(css: str, x: float, y: float, content: str, data: Mapping[str, str] = NO_DATA) -> str:
    """Return a ``text`` element with data attributes; its CSS class determines the alignment."""
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items())
    return f'<text class="{css}" x="{_at(x)}" y="{_at(y)}"{attributes}>{escape(content)}</text>'


def levels(axis: Axis, area: Area) -> Iterable[str]:
    """Yield the grid lines and labels of the vertical axis, and its name."""
    for value, written in axis.marks():
        at = area.y(axis, value)
        yield f'<path class="level" d="M{_at(area.left)} {_at(at)}H{_at(area.right)}"/>'
        yield text("level-text", area.left - 6, at + 3, written)
    if axis.name:
        middle = (area.top + area.bottom) / 2
        turned = f"translate(11 {middle:.0f}) rotate(-90)"
        yield f'<text class="axis" transform="{turned}">{escape(axis.name)}</text>'


def foot(axis: Axis, area: Area) -> Iterable[str]:
    """Yield the labels of the horizontal axis, below the area, and its name."""
    for value, written in axis.marks():
        yield text("tick", area.x(axis, value), area.bottom + 14, written)
    yield foot_name(axis.name, area)


def foot_name(name: str, area: Area) -> str:
    """Return the ``text`` element with the name of the horizontal axis."""
    return text("axis", round((area.left + area.right) / 2), area.bottom + 32, name)


def _at(coordinate: float) -> str:
    return f"{round(coordinate, 1):g}"


BASELINE = 4  # offset from the middle of a line of text
LABEL_GAP = 15


def label(css: str, x: float, y: float, content: str) -> str:
    """Return a ``text`` element that is vertically centered at `y`."""
    return text(css, x, y + BASELINE, content)


def shortened(name: str, length: int = NAME_LENGTH) -> str:
    """Truncate a name so that it fits next to a line."""
    return name if len(name) <= length else name[: length - 1].rstrip() + "…"


def spread(wanted: Sequence[float], *, gap: float, lowest: float, highest: float) -> list[float]:
    """Return positions near the wanted ones, in the same order and, if possible, `gap` apart."""
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


class Frame(NamedTuple):
    """The size of a picture with names to the right of its area; `css` is an additional class."""

    css: str
    width: int
    height: int
    area: Area
    name_length: int = NAME_LENGTH

    def named(self, css: str, place: Place, height: float, name: str) -> Iterable[str]:
        """Yield the name of a point or line, with a line that leads to it."""
        right = self.area.right
        yield polyline(f"leader{css}", [place, (right + 10, height)])
        yield label(f"label{css}", right + 14, height, shortened(name, self.name_length))

    def heights(self, wanted: Sequence[float]) -> list[float]:
        """Return heights for names near the wanted ones that do not overlap."""
        return spread(wanted, gap=LABEL_GAP, lowest=self.area.top, highest=self.area.bottom)

    def picture(self, css: str, description: str, parts: Iterable[str]) -> str:
        """Return the ``svg`` element."""
        return picture(f"{css}{self.css}", description, self.width, self.height, parts)


WIDE = Frame("", 640, 400, Area(left=66, right=470, top=14, bottom=350))
NARROW = Frame(" narrow", 360, 320, Area(left=62, right=250, top=14, bottom=270), 13)


class Plot(NamedTuple):
    """A frame with both axes."""

    frame: Frame
    x: Axis
    y: Axis

    @classmethod
    def fitting(cls, frame: Frame, x: Axis, y: Axis) -> "Plot":
        """Return a plot with room for the labels of the vertical axis to the left of the area."""
        longest = max((len(written) for _, written in y.marks()), default=0)
        left = CHARACTER * longest + (26 if y.name else 10)
        return cls(frame._replace(area=frame.area._replace(left=max(frame.area.left, left))), x, y)

    def place(self, x: float, y: float) -> Place:
        """Return the place of a point; a point outside the axes is on the nearest edge."""
        x, y = (min(max(value, axis.low), axis.high) for value, axis in ((x, self.x), (y, self.y)))
        return self.frame.area.x(self.x, x), self.frame.area.y(self.y, y)

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
    """Return the lowest value that is not an outlier, of at least one value.

    Outliers are more than three times as far below the maximum as the median is; the distance between maximum
    and median counts as at least `least`. Up to three values are never outliers.
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


Place = tuple[float, float]
NO_DATA: Mapping[str, str] = MappingProxyType({})


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


def _at(coordinate: float) -> str:
    return f"{round(coordinate, 1):g}"


BASELINE = 4  # offset from the middle of a line of text
LABEL_GAP = 15


class Frame(NamedTuple):
    """The size of a picture, the edges of its plot area, and the length of names to the right of it.

    `top` is less than `bottom`; `css` is an additional class.
    """

    width: int
    height: int
    left: float
    right: float
    top: float
    bottom: float
    css: str = ""
    name_length: int = 22

    def named(self, css: str, place: Place, height: float, name: str) -> Iterable[str]:
        """Yield the name of a point or line, with a line that leads to it."""
        if len(name) > self.name_length:
            name = name[: self.name_length - 1].rstrip() + "…"
        yield polyline(f"leader{css}", [place, (self.right + 10, height)])
        yield text(f"label{css}", self.right + 14, height + BASELINE, name)

    def heights(self, wanted: Sequence[float]) -> list[float]:
        """Return heights for names near the wanted ones that do not overlap if there is room."""
        order = sorted(range(len(wanted)), key=wanted.__getitem__)
        gap = min(LABEL_GAP, (self.bottom - self.top) / max(1, len(wanted) - 1))
        heights, at = [0.0] * len(wanted), self.top
        for index in order:
            heights[index] = at = max(at, wanted[index])
            at += gap
        at = self.bottom
        for index in reversed(order):
            heights[index] = at = min(at, heights[index])
            at -= gap
        return heights

    def picture(self, css: str, description: str, parts: Iterable[str]) -> str:
        """Return the ``svg`` element with a description for screen readers."""
        return (
            f'<svg class="{css}{self.css}" viewBox="0 0 {_at(self.width)} {_at(self.height)}" role="img" '
            f'aria-label="{escape(description)}">{"".join(parts)}</svg>'
        )


WIDE = Frame(640, 400, left=66, right=470, top=14, bottom=350)
NARROW = Frame(360, 320, left=62, right=250, top=14, bottom=270, css=" narrow", name_length=13)


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
        return cls(frame._replace(left=max(frame.left, left)), x, y)

    def across(self, value: float) -> float:
        """Return the horizontal coordinate of a value."""
        return self.x.place(value, self.frame.left, self.frame.right)

    def down(self, value: float) -> float:
        """Return the vertical coordinate of a value."""
        return self.y.place(value, self.frame.bottom, self.frame.top)

    def place(self, x: float, y: float) -> Place:
        """Return the place of a point; a point outside the axes is on the nearest edge."""
        x, y = (min(max(value, axis.low), axis.high) for value, axis in ((x, self.x), (y, self.y)))
        return self.across(x), self.down(y)

    def levels(self) -> Iterable[str]:
        """Yield the grid lines and labels of the vertical axis, and its name."""
        frame = self.frame
        for value, written in self.y.marks():
            at = self.down(value)
            yield f'<path class="level" d="M{_at(frame.left)} {_at(at)}H{_at(frame.right)}"/>'
            yield text("level-text", frame.left - 6, at + 3, written)
        if self.y.name:
            turned = f"translate(11 {(frame.top + frame.bottom) / 2:.0f}) rotate(-90)"
            yield f'<text class="axis" transform="{turned}">{escape(self.y.name)}</text>'

    def foot(self) -> Iterable[str]:
        """Yield the labels of the horizontal axis, below the area, and its name."""
        for value, written in self.x.marks():
            yield text("tick", self.across(value), self.frame.bottom + 14, written)
        yield self.foot_name()

    def foot_name(self) -> str:
        """Return the ``text`` element with the name of the horizontal axis."""
        middle = round((self.frame.left + self.frame.right) / 2)
        return text("axis", middle, self.frame.bottom + 32, self.x.name)

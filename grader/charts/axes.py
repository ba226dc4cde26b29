"""Axes of charts: where a value lies, and at which values there is a mark."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

STEPS = 4
SHOWN_VALUES, FLOOR_SPREADS = 3, 3
ROUND_STEPS = (1, 2, 2.5, 5, 10)

FIRST_MONDAY = datetime(2001, 1, 1, tzinfo=UTC)
TIME_MARKS = 6
TIME_STEPS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 30)) + tuple(
    timedelta(hours=hours) for hours in (1, 2, 6, 12, 24, 48, 168, 336, 672, 2016, 8760)
)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def robust_floor(values: Iterable[float], *, least: float) -> float:
    """Return where to clip low outliers, which are three times as far below the top as the median.

    Parameters
    ----------
    values : iterable of float
        At least one; of up to three none is clipped.
    least : float
        The least distance from the top to the median that counts.

    Returns
    -------
    float
        The lowest value that is not an outlier.
    """
    ordered = sorted(values)
    top, middle = ordered[-1], ordered[(len(ordered) - 1) // 2]
    if len(ordered) <= SHOWN_VALUES:
        return ordered[0]
    far = top - FLOOR_SPREADS * max(top - middle, least)
    return next(value for value in ordered if value >= far)


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows, and from where to where; on a logarithmic one both ends are above 0."""

    name: str
    low: float
    high: float
    is_logarithmic: bool = False
    write: Callable[[float], str] = _short

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

    def marks(self) -> list[tuple[float, str]]:
        """Return the values to mark, with their texts."""
        return [(value, self.write(value)) for value in self.ticks()]


def time_marks(start: datetime, end: datetime) -> list[tuple[datetime, str]]:
    """Return round moments from one to another, with their texts: the time, at midnight the day."""
    step = next((each for each in TIME_STEPS if (end - start) / each <= TIME_MARKS), TIME_STEPS[-1])
    first = math.ceil((start - FIRST_MONDAY) / step)
    moments = [FIRST_MONDAY + number * step for number in range(first, (end - FIRST_MONDAY) // step + 1)]
    shows_hours = step < timedelta(days=1)
    return [
        (at, f"{at:%H:%M}" if shows_hours and (at.hour or at.minute) else f"{at.day} {at:%b}")
        for at in moments
    ]

"""Colour scale (heat map) of the per-identity table.

One hue that only changes its lightness can be told apart without colour vision, and the number stands in each
cell. The classes are narrow near 1, where good models differ.
"""

from bisect import bisect_right

BOUNDS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.99)
SHADES = tuple(f"h{place}" for place in range(len(BOUNDS) + 1))


def relative(value: float, low: float, high: float) -> str:
    """Return the class of a value between two others: `h1` to `h10`, and `h0` below the lower one."""
    if value < low:
        return SHADES[0]
    share = (value - low) / (high - low) if high > low else 1.0
    return SHADES[1 + min(int(10 * share), 9)]


def shade(value: float | None) -> str:
    """Return the class of a rounded value: `h0` below 0.5 to `h10` from 0.99 on, `undefined` for none."""
    return "undefined" if value is None else SHADES[bisect_right(BOUNDS, value)]

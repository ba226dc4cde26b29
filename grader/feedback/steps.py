"""Scores in steps: the units in which they are shown, and the nearest step."""

UNITS = 100_000
"""How many units a score of 1 has."""


def nearest(score: float, step: int) -> int:
    """Return the multiple of `step` units that is nearest to a score, within 0 and 1."""
    return min(max(round(score * UNITS / step) * step, 0), UNITS)

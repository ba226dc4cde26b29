"""Names of teams beside the lines of a leaderboard's chart: what fits there, and not one above the other."""

from collections.abc import Sequence

from grader.charts.svg import text

WIDTH = 880
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

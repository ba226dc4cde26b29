"""Small pictures: shaded cells and dumbbell plots for table rows, and covers of competitions."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape

from grader.charts.svg import Area, Axis, circle, text

WIDTH, HEIGHT = 560, 18
COVER_WIDTH, COVER_HEIGHT = 320, 96
RIDGES = 4
_AREA = Area(left=8, right=WIDTH - 8, top=0, bottom=HEIGHT)
_SMALLEST = 0.01  # A shorter axis would exaggerate noise.


def shared_axis(values: Iterable[float]) -> Axis:
    """Return an axis for all rows that includes all values and spans at least 0.01."""
    known = list(values)
    low, high = min(known), max(known)
    room = max((high - low) * 0.04, (_SMALLEST - (high - low)) / 2)
    return Axis("", low - room, high + room)


def dumbbell(before: float, after: float, axis: Axis, *, is_lowest_best: bool = False) -> str:
    """Render the dumbbell of one row, in the color of an improvement or a deterioration.

    It is hidden from screen readers, because the table contains the values.
    """
    left, right = _AREA.x(axis, before), _AREA.x(axis, after)
    middle = HEIGHT / 2
    is_better = after < before if is_lowest_best else after > before
    direction = "same" if after == before else "rose" if is_better else "fell"
    return _row(
        direction,
        f'<path class="rail" d="M{_AREA.left} {middle:g}H{_AREA.right}"/>'
        f'<path class="bar" d="M{left:.1f} {middle:g}H{right:.1f}"/>'
        + circle("was", (left, middle), 5)
        + circle("is", (right, middle), 6),
    )


def scale(axis: Axis) -> str:
    """Render the tick labels of the shared axis for the table header."""
    return _row("scale", "".join(text("tick", _AREA.x(axis, at), 13, mark) for at, mark in axis.marks()))


def _row(css: str, content: str) -> str:
    return (
        f'<svg class="dumbbell {css}" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true" '
        f'focusable="false">{content}</svg>'
    )


STEP, SIDE = 8, 7


def cell_picture(columns: Sequence[Sequence[str]], description: str) -> str:
    """Render a grid of shaded squares.

    Each column lists the CSS classes of its shades from top to bottom. Screen readers and tooltips show the
    description. All cells of a shade form one path.
    """
    by_shade: dict[str, list[str]] = defaultdict(list)
    for across, column in enumerate(columns):
        for down, shade in enumerate(column):
            by_shade[shade].append(f"M{STEP * across} {STEP * down}h{SIDE}v{SIDE}h-{SIDE}z")
    width, height = STEP * len(columns), STEP * max(map(len, columns), default=0)
    paths = "".join(f'<path class="{shade}" d="{"".join(d)}"/>' for shade, d in sorted(by_shade.items()))
    return (
        f'<svg class="cells" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        f"<title>{escape(description)}</title>{paths}</svg>"
    )


@lru_cache(maxsize=1024)
def cover(title: str) -> str:
    """Return the generated cover of a competition.

    Equal titles have equal covers. The style sheet colors the shapes, so a cover has both themes. The picture
    is decorative: it is hidden from screen readers.

    Parameters
    ----------
    title : str
        The competition's title.

    Returns
    -------
    str
        An ``svg`` element that fills its container.
    """
    chance = hashlib.sha256(title.encode(errors="replace")).digest()
    ridges = (
        f'<path class="ridge r{number}" d="{_ridge(chance[3 * number :], number)}"/>'
        for number in range(RIDGES)
    )
    return (
        f'<svg viewBox="0 0 {COVER_WIDTH} {COVER_HEIGHT}" preserveAspectRatio="none" aria-hidden="true" '
        f'focusable="false">{"".join(ridges)}</svg>'
    )


def _ridge(chance: bytes, number: int) -> str:
    """Return the outline of one distribution, whose place, width and height follow from three bytes."""
    middle = round(COVER_WIDTH * (number + chance[0] / 255) / RIDGES)
    spread = round(COVER_WIDTH * (0.08 + 0.12 * chance[1] / 255))
    bottom, top = COVER_HEIGHT, round(COVER_HEIGHT * (0.65 - 0.5 * chance[2] / 255))
    return (
        f"M{middle - 3 * spread} {bottom}C{middle - spread} {bottom} {middle - spread} {top} {middle} {top}"
        f"S{middle + spread} {bottom} {middle + 3 * spread} {bottom}Z"
    )

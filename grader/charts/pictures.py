"""Covers of competitions."""

import hashlib
from functools import lru_cache

COVER_WIDTH, COVER_HEIGHT = 320, 96
RIDGES = 4


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

"""Small picture of a table of shades, for a row of a list."""

from collections import defaultdict
from collections.abc import Sequence
from html import escape

STEP, SIDE = 8, 7


def cell_picture(columns: Sequence[Sequence[str]], description: str) -> str:
    """Draw a square for each cell, in columns from top to bottom; a cell is the class of its shade.

    Parameters
    ----------
    columns : sequence of sequence of str
    description : str
        Read to those who cannot see the picture, and told where the mouse rests.

    Returns
    -------
    str
        One ``svg`` element; the cells of a shade are one path.
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

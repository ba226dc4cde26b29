"""The frame that the charts of reports share: how large they are, and where the names of their parts lie."""

from grader.charts.svg import Area

WIDTH, HEIGHT = 420, 280
BOX = Area(left=58, right=408, top=14, bottom=234)
SQUARE = BOX._replace(right=BOX.left + BOX.bottom - BOX.top)
SQUARE_WIDTH = WIDTH - BOX.right + SQUARE.right
LEGEND_STEP = 18


def legend_place(number: int) -> tuple[float, float]:
    """Return where the name of a part begins: in two columns below the chart."""
    return BOX.left + (number % 2) * 180, HEIGHT - 4 + LEGEND_STEP * (number // 2)


def height_with_legend(count: int) -> int:
    """Return the height of a chart with the names of its parts."""
    return HEIGHT + LEGEND_STEP * ((count + 1) // 2)

"""The places of some rows in two orders: a line where they agree, a cloud where they do not."""

from collections.abc import Sequence

from grader.charts.axes import Axis
from grader.charts.frame import HEIGHT, SQUARE, SQUARE_WIDTH
from grader.charts.svg import foot, levels, picture

LABEL_ROOM = 12  # the last mark is centered below the edge of the square


def order_chart(names: tuple[str, str], points: Sequence[Sequence[int]]) -> str:
    """Return the chart of rows by their places, from 0 to 1000, in the files of these names."""
    across, up = (Axis(name, 0, 1000) for name in names)
    dots = (
        f'<circle class="dot" cx="{SQUARE.x(across, x):.1f}" cy="{SQUARE.y(up, y):.1f}" r="1.6"/>'
        for x, y in points
    )
    description = f"Places of {len(points)} rows in {names[0]} and in {names[1]}, from 0 to 1000."
    parts = (*levels(up, SQUARE), *foot(across, SQUARE), *dots)
    return picture("chart scatter", description, SQUARE_WIDTH + LABEL_ROOM, HEIGHT, parts)

"""Chart of a team's displayed scores in submission order, with the best score so far.

Only displayed values are used, so the chart reveals no more than the table below it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median

from grader.charts.svg import Area, Axis, Frame, Plot, circle, levels, polyline, stairs, text
from grader.ranking.order import SCALE, Scale

AREA = Area(left=62, right=372, top=16, bottom=150)
FRAME = Frame(" trend", 380, 184, AREA)
TEXT_HEIGHT = 16
FLOOR_SPREADS = 4
SMALLEST_SPREAD = 200
SMALLEST_FALL = 1000  # a score is below the axis only if it is far below the best one
BELOW_AXIS = 7
MOST_DOTS, FEW_DOTS = 1000, 60


@dataclass(frozen=True, slots=True)
class TrendChart:
    """A trend chart; scores below `floor`, if not None, appear below the axis."""

    svg: str
    floor: str | None


def trend_chart(
    scores: Sequence[int], *, leader: int | None = None, scale: Scale = SCALE
) -> TrendChart | None:
    """Render displayed scores in submission order, in units; None if there are no scores.

    At most `MOST_DOTS` of the latest scores are rendered. `leader` is the displayed score of the leading
    team, which appears as a faint line.
    """
    best_so_far = list(accumulate(scores, max))[-MOST_DOTS:]
    scores = scores[-MOST_DOTS:]
    if not scores:
        return None
    best, lowest = best_so_far[-1], min(scores)
    y = _score_axis(best, lowest, median(scores), leader, scale)
    plot = Plot(FRAME, Axis("", 0.5, len(scores) + 0.5), y)
    parts = [*levels(y, AREA), f'<path class="rule" d="M{AREA.left} {AREA.bottom}H{AREA.right}"/>']
    if leader is not None:
        at = AREA.y(y, leader)
        parts.append(f'<path class="leader-line" d="M{AREA.left} {at:.1f}H{AREA.right}"/>')
        parts.append(text("leader-name", AREA.right, at - 4, f"leader {scale.text(leader)}"))
    steps = (plot.place(number, units) for number, units in enumerate(best_so_far, 1) if units >= y.low)
    parts.append(polyline("best-line", stairs(steps, AREA.right)))
    css = "dots" if len(scores) <= FEW_DOTS else "dots many"
    for name, is_below in ((css, False), (f"{css} below", True)):
        if dots := "".join(_dots(scores, plot, is_below=is_below)):
            parts.append(f'<path class="{name}" d="{dots}"/>')
    if best in scores:
        parts.append(circle("best-dot", plot.place(scores.index(best) + 1, best), 4))
    name_height = _name_height(y, best, leader)
    parts.append(text("best-name", AREA.left + 4, name_height, f"your best {scale.text(best)}"))
    parts += _foot(len(scores))
    description = (
        f"Your displayed scores in submission order, {len(scores)} in total. The table below contains them."
    )
    svg = FRAME.picture("chart", description, parts)
    return TrendChart(svg, scale.text(int(y.low)) if lowest < y.low else None)


def _score_axis(best: int, lowest: int, middle: float, leader: int | None, scale: Scale) -> Axis:
    """Return an axis that separates the better scores despite very low first scores."""
    high = best if leader is None else max(best, leader)
    floor = best - FLOOR_SPREADS * max(best - round(middle), SMALLEST_FALL)
    low = min(max(lowest, floor), high - SMALLEST_SPREAD)
    return Axis("", low, high, write=lambda units: scale.text(round(units)))


def _name_height(y: Axis, best: int, leader: int | None) -> float:
    """Return the height of the best score's label, which avoids the leader's line."""
    at = AREA.y(y, best)
    is_in_the_way = leader is not None and 0 <= at - AREA.y(y, leader) <= TEXT_HEIGHT
    return at + 13 if is_in_the_way and at + 13 < AREA.bottom else at - 6


def _dots(scores: Sequence[int], plot: Plot, *, is_below: bool) -> Iterator[str]:
    """Yield zero-length lines, which round line caps turn into dots, on or below the axis.

    This is the shortest notation for hundreds of dots.
    """
    for number, units in enumerate(scores, 1):
        if (units < plot.y.low) is is_below:
            x, y = plot.place(number, units)
            yield f"M{x:.1f} {AREA.bottom + BELOW_AXIS if is_below else y:.1f}h0"


def _foot(count: int) -> Iterator[str]:
    if count == 1:
        yield text("tick", (AREA.left + AREA.right) / 2, AREA.bottom + 18, "one submission")
        return
    yield text("tick at-start", AREA.left, AREA.bottom + 18, "first")
    yield text("tick at-end", AREA.right, AREA.bottom + 18, "latest")

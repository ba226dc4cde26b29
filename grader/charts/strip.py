"""Strip plot of a leaderboard: each team's best shown score on one line, the own one marked.

A few teams are dots in piles, many are bars. The picture is as wide as its place: what lies across is given
in percentages, so that texts and dots keep their size on a phone. It is drawn from displayed values alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape

from grader.charts.axes import Axis, robust_floor
from grader.charts.svg import strip
from grader.ranking.order import SCORE_DECIMALS, score_text

HEIGHT = 104
FOOT = 78
COLUMNS = 50
MOST_DOTS = 150
HIGHEST_PILE = 7
DOT = 4
PILE_STEP = 8
HIGHEST_BAR = 50
LOWEST_BAR = 2
LEFT, RIGHT = 2.0, 98.0  # percent of the width
SMALLEST_SPREAD = 200


@dataclass(frozen=True, slots=True)
class StripChart:
    """The chart; `below` teams have less than `floor` and are drawn at the left edge."""

    svg: str
    floor: str
    below: int


def strip_chart(
    scores: Mapping[int, int], *, own: int | None = None, decimals: int = SCORE_DECIMALS
) -> StripChart | None:
    """Draw the number of teams at each score, in units of 0.00001, and mark the own one; None without any."""
    if not scores:
        return None
    axis = _axis(scores)
    columns: Counter[int] = Counter()
    for units, count in scores.items():
        columns[_column(axis, units)] += count
    count = columns.total()
    is_dotted = count <= MOST_DOTS and max(columns.values()) <= HIGHEST_PILE
    marks = _dots(axis, scores) if is_dotted else _bars(columns)
    line = f'<line class="rule" x1="0" x2="100%" y1="{FOOT}" y2="{FOOT}"/>'
    ends = (
        _text("level", LEFT, FOOT + 20, score_text(int(axis.low), decimals), "start"),
        _text("level", RIGHT, FOOT + 20, score_text(int(axis.high), decimals), "end"),
    )
    mark = "" if own is None else _own(axis, own, decimals)
    description = (
        f"Best scores of {_teams(count)}, from {score_text(min(scores), decimals)} to "
        f"{score_text(max(scores), decimals)}"
    )
    if own is not None:
        description += f"; yours is {score_text(own, decimals)}"
    svg = strip("strip", description, HEIGHT, (line, *marks, *ends, mark))
    below = sum(each for units, each in scores.items() if units < axis.low)
    return StripChart(svg, score_text(int(axis.low), decimals), below)


def _axis(scores: Mapping[int, int]) -> Axis:
    """Return an axis on which most teams are apart, however low a few are."""
    top = max(scores)
    floor = robust_floor(Counter(scores).elements(), least=SMALLEST_SPREAD)
    if floor == top:
        return Axis("", top - SMALLEST_SPREAD, top + SMALLEST_SPREAD)
    return Axis("", floor, top)


def _x(axis: Axis, units: int) -> float:
    return axis.place(max(units, axis.low), LEFT, RIGHT)


def _column(axis: Axis, units: int) -> int:
    return min(int(axis.place(max(units, axis.low), 0, COLUMNS)), COLUMNS - 1)


def _dots(axis: Axis, scores: Mapping[int, int]) -> Iterator[str]:
    piles: Counter[int] = Counter()
    for units in sorted(Counter(scores).elements()):
        column = _column(axis, units)
        y = FOOT - DOT - 1 - PILE_STEP * piles[column]
        piles[column] += 1
        yield f'<circle class="dot" cx="{_x(axis, units):.2f}%" cy="{y}" r="{DOT}"/>'


def _bars(columns: Mapping[int, int]) -> Iterator[str]:
    highest, width = max(columns.values()), (RIGHT - LEFT) / COLUMNS
    for column, count in sorted(columns.items()):
        height = max(HIGHEST_BAR * count / highest, LOWEST_BAR)
        yield (
            f'<rect class="bar" x="{LEFT + width * column:.2f}%" width="{width * 0.86:.2f}%" '
            f'y="{FOOT - height:.1f}" height="{height:.1f}"/>'
        )


def _own(axis: Axis, units: int, decimals: int) -> str:
    x = _x(axis, units)
    anchor = "start" if x < 20 else "end" if x > 80 else "middle"
    return (
        f'<line class="own" x1="{x:.2f}%" x2="{x:.2f}%" y1="18" y2="{FOOT}"/>'
        f'<circle class="own" cx="{x:.2f}%" cy="{FOOT}" r="{DOT + 1}"/>'
        + _text("own", x, 12, f"you {score_text(units, decimals)}", anchor)
    )


def _text(css: str, x: float, y: float, content: str, anchor: str) -> str:
    return f'<text class="{css}" x="{x:.2f}%" y="{y:g}" text-anchor="{anchor}">{escape(content)}</text>'


def _teams(count: int) -> str:
    return "1 team" if count == 1 else f"{count:,} teams"

"""Strip charts of best scores and score changes; daily charts of files and best scores.

The charts are as wide as their containers. Horizontal positions are percentages, so text keeps its size on a
phone. Only displayed values are used.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape

from grader.charts.svg import Axis, robust_floor
from grader.ranking.order import SCALE, Scale

DOT, LOWEST_BAR = 5, 2
BAR_SHARE = 0.86  # as a fraction of the column width
SMALLEST_SPREAD = 200
LOWER, LOWER_GAP = -1, 6.0  # the column of scores below the axis, and its distance from the axis in percent


@dataclass(frozen=True, slots=True)
class _Columns:
    """The layout of a strip: `count` columns of bars above a baseline."""

    height: int
    foot: int
    left: float
    right: float
    count: int
    highest_bar: int

    def bar(self, css: str, x: float, width: float, share: float) -> str:
        """Return a bar whose height is a fraction of the highest bar's height."""
        height = max(self.highest_bar * share, LOWEST_BAR)
        return _bar(css, x, width, self.foot - height, height)


BEST = _Columns(height=104, foot=78, left=2.0, right=98.0, count=50, highest_bar=50)
# There are 30 columns on either side of zero, which has its own column.
CHANGES = _Columns(height=112, foot=84, left=3.0, right=97.0, count=60, highest_bar=72)
DAYS_HEIGHT, DAYS_TOP, DAYS_FOOT = 132, 18, 108


@dataclass(frozen=True, slots=True)
class StripChart:
    """A strip chart; `below` teams have a score below `floor` and appear to the left of the axis."""

    svg: str
    floor: str
    below: int


def strip_chart(
    scores: Mapping[int, int], *, own: int | None = None, scale: Scale = SCALE
) -> StripChart | None:
    """Render the distribution of team scores with the viewer's score; None if there are no scores.

    `scores` maps the units of each score to its number of teams.
    """
    if not scores:
        return None
    axis = _axis(scores)
    below = sum(count for units, count in scores.items() if units < axis.low)
    start = BEST.left + (LOWER_GAP if below else 0)
    columns: Counter[int] = Counter()
    for units, count in scores.items():
        columns[_column(axis, units)] += count
    marks = _bars(start, columns)
    floor = scale.text(int(axis.low))
    ends = (
        _text("level", start, BEST.foot + 20, floor, "start"),
        _text("level", BEST.right, BEST.foot + 20, scale.text(int(axis.high)), "end"),
    )
    mark = "" if own is None else _own(_x(axis, start, own), own, scale)
    count = columns.total()
    description = (
        f"Best scores of {'1 team' if count == 1 else f'{count:,} teams'}, from "
        f"{scale.text(min(scores))} to {scale.text(max(scores))}"
    )
    if own is not None:
        description += f"; yours is {scale.text(own)}"
    svg = _strip("strip", description, BEST.height, (_rule(BEST.foot), *marks, *ends, mark))
    return StripChart(svg, floor, below)


def _axis(scores: Mapping[int, int]) -> Axis:
    """Return an axis that separates most teams even if a few scores are very low."""
    top = max(scores)
    floor = robust_floor(Counter(scores).elements(), least=SMALLEST_SPREAD)
    if floor == top:
        return Axis("", top - SMALLEST_SPREAD, top + SMALLEST_SPREAD)
    return Axis("", floor, top)


def _x(axis: Axis, start: float, units: int) -> float:
    return BEST.left if units < axis.low else axis.place(units, start, BEST.right)


def _column(axis: Axis, units: int) -> int:
    """Return the column of a score, or `LOWER` for all scores below the axis."""
    return LOWER if units < axis.low else min(int(axis.place(units, 0, BEST.count)), BEST.count - 1)


def _bars(start: float, columns: Mapping[int, int]) -> Iterator[str]:
    highest, width = max(columns.values()), (BEST.right - start) / BEST.count
    for column, count in sorted(columns.items()):
        css, x = ("bar lower", BEST.left) if column == LOWER else ("bar", start + width * column)
        yield BEST.bar(css, x, width * BAR_SHARE, count / highest)


def _own(x: float, units: int, scale: Scale) -> str:
    anchor = "start" if x < 20 else "end" if x > 80 else "middle"
    return (
        f'<line class="own" x1="{x:.2f}%" x2="{x:.2f}%" y1="18" y2="{BEST.foot}"/>'
        f'<circle class="own" cx="{x:.2f}%" cy="{BEST.foot}" r="{DOT}"/>'
        + _text("own", x, 12, f"you {scale.text(units)}", anchor)
    )


def change_strip(changes: Sequence[int], scale: Scale = SCALE) -> str | None:
    """Render the distribution of score changes, in units; None if there are no teams.

    Zero is at the center, and both sides extend to the largest absolute change. Better scores are on the
    right.
    """
    if not changes:
        return None
    bound = max(max(abs(change) for change in changes), 1)
    piles = Counter(round(change / bound * CHANGES.count / 2) for change in changes)
    down, up = (sum(way * change > 0 for change in changes) for way in (-1, 1))
    if scale.is_lowest_best:
        down, up = up, down
    lowest, highest = scale.signed_text(min(changes)), scale.signed_text(max(changes))
    description = f"Score changes from {lowest} to {highest}: {down:,} lower, {up:,} higher"
    parts = (
        _rule(CHANGES.foot),
        f'<line class="zero" x1="50%" x2="50%" y1="4" y2="{CHANGES.foot + 5}"/>',
        *_change_marks(piles),
        _text("level", CHANGES.left, CHANGES.foot + 22, scale.signed_text(-bound), "start"),
        _text("level", 50.0, CHANGES.foot + 22, "0", "middle"),
        _text("level", CHANGES.right, CHANGES.foot + 22, scale.signed_text(bound), "end"),
    )
    return _strip("strip changes", description, CHANGES.height, parts)


def _change_marks(piles: Counter[int]) -> Iterator[str]:
    highest, step = max(piles.values()), (CHANGES.right - CHANGES.left) / CHANGES.count
    width = step * BAR_SHARE
    for column, count in sorted(piles.items()):
        css = "rose" if column > 0 else "fell" if column < 0 else "stayed"
        yield CHANGES.bar(css, 50 + step * column - width / 2, width, count / highest)


def day_bars(days: Sequence[tuple[date, int, int]]) -> str:
    """Render stacked bars for each day: accepted files, with rejected files on top."""
    most = max((good + bad for _, good, bad in days), default=0)
    width = 100 / max(len(days), 1)
    marks = []
    for place, (day, good, bad) in enumerate(days):
        base = float(DAYS_FOOT)
        title = f"{_day(day)}: {good + bad:,} uploaded, {bad:,} rejected"
        bars = []
        for css, count in (("good", good), ("bad", bad)):
            if count:
                height = max((DAYS_FOOT - DAYS_TOP) * count / most, LOWEST_BAR)
                base -= height
                bars.append(_bar(css, width * (place + 0.1), width * 0.8, base, height))
        if bars:
            marks.append(f"<g><title>{title}</title>{''.join(bars)}</g>")
    total, rejected = (sum(each) for each in zip(*((g + b, b) for _, g, b in days), strict=True))
    description = f"Files by day: {total:,} uploaded, {rejected:,} rejected, at most {most:,} per day"
    top = f'<text class="level" x="0" y="12">{most:,}</text>'
    return _strip("strip days", description, DAYS_HEIGHT, [top, *marks, *_ends(days[0][0], days[-1][0])])


def best_line(best: Sequence[tuple[date, int]], *, until: date, scale: Scale = SCALE) -> str | None:
    """Render the best score over time until a day, in units; None if there are no scores."""
    if not best:
        return None
    first = best[0][0]
    length = max((until - first).days, 1)
    low, high = best[0][1], best[-1][1]
    places = [
        (
            100 * min((day - first).days / length, 1),
            DAYS_FOOT - (DAYS_FOOT - DAYS_TOP - 8) * (units - low) / max(high - low, 1),
        )
        for day, units in best
    ]
    ends = [*places[1:], (100.0, places[-1][1])]
    lines = []
    for (x, y), (next_x, next_y) in zip(places, ends, strict=True):
        lines.append(_line(x, next_x, y, y))
        lines.append(_line(next_x, next_x, y, next_y))
    texts = (
        f'<text class="level" x="0" y="{DAYS_FOOT - 6}">{scale.text(low)}</text>' if low != high else "",
        f'<text class="best" x="100%" y="{DAYS_TOP}" text-anchor="end">{scale.text(high)}</text>',
    )
    description = f"Best public score by day, from {scale.text(low)} to {scale.text(high)}"
    return _strip("strip days", description, DAYS_HEIGHT, [*lines, *texts, *_ends(first, until)])


def _ends(first: date, last: date) -> Iterator[str]:
    yield _rule(DAYS_FOOT)
    yield f'<text class="level" x="0" y="{DAYS_FOOT + 17}">{_day(first)}</text>'
    yield f'<text class="level" x="100%" y="{DAYS_FOOT + 17}" text-anchor="end">{_day(last)}</text>'


def _day(day: date) -> str:
    return f"{day.day} {day:%b}"


def _strip(css: str, description: str, height: int, parts: Iterable[str]) -> str:
    return (
        f'<svg class="{css}" width="100%" height="{height}" role="img" aria-label="{escape(description)}">'
        f"{''.join(parts)}</svg>"
    )


def _rule(foot: int) -> str:
    return f'<line class="rule" x1="0" x2="100%" y1="{foot}" y2="{foot}"/>'


def _line(left: float, right: float, top: float, bottom: float) -> str:
    return f'<line class="step" x1="{left:.2f}%" x2="{right:.2f}%" y1="{top:.1f}" y2="{bottom:.1f}"/>'


def _bar(css: str, x: float, width: float, top: float, height: float) -> str:
    return f'<rect class="{css}" x="{x:.2f}%" width="{width:.2f}%" y="{top:.1f}" height="{height:.1f}"/>'


def _text(css: str, x: float, y: float, content: str, anchor: str) -> str:
    return f'<text class="{css}" x="{x:.2f}%" y="{y:g}" text-anchor="{anchor}">{escape(content)}</text>'

"""Charts of days: a stacked bar for each day's files, and the best score as a line of steps.

The pictures are as wide as their place: what lies across is in percent, so that texts keep their size on
a phone.
"""

from collections.abc import Iterator, Sequence
from datetime import date

from grader.charts.svg import strip
from grader.ranking.order import score_text

HEIGHT, TOP, FOOT = 132, 18, 108
LOWEST_BAR = 2


def day_bars(days: Sequence[tuple[date, int, int]]) -> str:
    """Draw for each day how many files were good and how many were rejected, the rejected on top."""
    most = max((good + bad for _, good, bad in days), default=0)
    width = 100 / max(len(days), 1)
    marks = []
    for place, (day, good, bad) in enumerate(days):
        base = float(FOOT)
        title = f"{_day(day)}: {good + bad:,} sent, {bad:,} rejected"
        bars = []
        for css, count in (("good", good), ("bad", bad)):
            if count:
                height = max((FOOT - TOP) * count / most, LOWEST_BAR)
                base -= height
                bars.append(
                    f'<rect class="{css}" x="{width * (place + 0.1):.2f}%" width="{width * 0.8:.2f}%" '
                    f'y="{base:.1f}" height="{height:.1f}"/>'
                )
        if bars:
            marks.append(f"<g><title>{title}</title>{''.join(bars)}</g>")
    total, rejected = (sum(each) for each in zip(*((g + b, b) for _, g, b in days), strict=True))
    description = f"Files by day: {total:,} sent, {rejected:,} rejected, at most {most:,} a day"
    return strip(
        "strip days",
        description,
        HEIGHT,
        [f'<text class="level" x="0" y="12">{most:,}</text>', *marks, *_ends(days[0][0], days[-1][0])],
    )


def best_line(best: Sequence[tuple[date, int]], *, until: date) -> str | None:
    """Draw how the best score rose, in units of 0.00001, up to a day; None without any score."""
    if not best:
        return None
    first = best[0][0]
    length = max((until - first).days, 1)
    low, high = best[0][1], best[-1][1]
    places = [
        (
            100 * min((day - first).days / length, 1),
            FOOT - (FOOT - TOP - 8) * (units - low) / max(high - low, 1),
        )
        for day, units in best
    ]
    ends = [*places[1:], (100.0, places[-1][1])]
    lines = []
    for (x, y), (next_x, next_y) in zip(places, ends, strict=True):
        lines.append(_line(x, next_x, y, y))
        lines.append(_line(next_x, next_x, y, next_y))
    texts = (
        f'<text class="level" x="0" y="{FOOT - 6}">{score_text(low)}</text>' if low != high else "",
        f'<text class="best" x="100%" y="{TOP}" text-anchor="end">{score_text(high)}</text>',
    )
    description = f"Best public score by day, from {score_text(low)} to {score_text(high)}"
    return strip("strip days", description, HEIGHT, [*lines, *texts, *_ends(first, until)])


def _line(left: float, right: float, top: float, bottom: float) -> str:
    return f'<line class="step" x1="{left:.2f}%" x2="{right:.2f}%" y1="{top:.1f}" y2="{bottom:.1f}"/>'


def _ends(first: date, last: date) -> Iterator[str]:
    yield f'<line class="rule" x1="0" x2="100%" y1="{FOOT}" y2="{FOOT}"/>'
    yield f'<text class="level" x="0" y="{FOOT + 17}">{_day(first)}</text>'
    yield f'<text class="level" x="100%" y="{FOOT + 17}" text-anchor="end">{_day(last)}</text>'


def _day(day: date) -> str:
    return f"{day.day} {day:%b}"

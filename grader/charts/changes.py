"""Strip of score changes: each team's change beside a line at zero; dots of a few teams, bars of many.

The picture is as wide as its place: what lies across is in percent, so that texts keep their size on a phone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from grader.charts.svg import strip
from grader.ranking.order import signed_text

HEIGHT, FOOT, HIGHEST = 112, 84, 72
COLUMNS = 30  # on either side of zero, which has a column of its own
MOST_DOTS, DOT, PILE_STEP, HIGHEST_PILE = 150, 4, 9, 8
LOWEST_BAR = 2
MIDDLE, HALF = 50.0, 47.0  # percent of the width


def change_strip(changes: Sequence[int]) -> str | None:
    """Draw by how much each team's displayed score changes, in units of 0.00001; None without any team.

    Zero is in the middle and both sides reach to the largest change.
    """
    if not changes:
        return None
    bound = max(max(abs(change) for change in changes), 1)
    piles = Counter(round(change / bound * COLUMNS) for change in changes)
    is_dotted = len(changes) <= MOST_DOTS and max(piles.values()) <= HIGHEST_PILE
    marks = _dots(piles) if is_dotted else _bars(piles)
    down, up = (sum(way * change > 0 for change in changes) for way in (-1, 1))
    lowest, highest = signed_text(min(changes)), signed_text(max(changes))
    description = f"Score changes from {lowest} to {highest}: {down:,} fall, {up:,} rise"
    parts = (
        f'<line class="rule" x1="0" x2="100%" y1="{FOOT}" y2="{FOOT}"/>',
        f'<line class="zero" x1="50%" x2="50%" y1="4" y2="{FOOT + 5}"/>',
        *marks,
        _text(MIDDLE - HALF, signed_text(-bound), "start"),
        _text(MIDDLE, "0", "middle"),
        _text(MIDDLE + HALF, signed_text(bound), "end"),
    )
    return strip("strip changes", description, HEIGHT, parts)


def _dots(piles: Counter[int]) -> Iterator[str]:
    for column, count in sorted(piles.items()):
        for place in range(count):
            yield (
                f'<circle class="{_way(column)}" cx="{_x(column):.2f}%" '
                f'cy="{FOOT - DOT - 1 - PILE_STEP * place}" r="{DOT}"/>'
            )


def _bars(piles: Counter[int]) -> Iterator[str]:
    highest, width = max(piles.values()), HALF / COLUMNS * 0.86
    for column, count in sorted(piles.items()):
        height = max(HIGHEST * count / highest, LOWEST_BAR)
        yield (
            f'<rect class="{_way(column)}" x="{_x(column) - width / 2:.2f}%" width="{width:.2f}%" '
            f'y="{FOOT - height:.1f}" height="{height:.1f}"/>'
        )


def _x(column: int) -> float:
    return MIDDLE + HALF * column / COLUMNS


def _way(column: int) -> str:
    return "rose" if column > 0 else "fell" if column < 0 else "stayed"


def _text(x: float, content: str, anchor: str) -> str:
    return f'<text class="level" x="{x:.2f}%" y="{FOOT + 22}" text-anchor="{anchor}">{content}</text>'

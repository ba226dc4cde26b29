"""Slope chart of two rankings: one line for each team, with names of those that moved.

The picture is narrow, so that its texts can be read on a phone. Few teams all have a name; of many only the
first, the reader's own and those that moved most, and all others are one quiet path.
"""

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.charts.svg import label, picture, polyline, shortened, spread, text

WIDTH, LEFT, RIGHT, TOP, STEP = 400, 42, 168, 36, 19
LABEL_GAP = 16
ROWS = 20  # up to here each rank has a row and each team a name; from here ranks lie by their logarithm
HEIGHT = 420
TOP_COUNT, MOVED_COUNT = 3, 14
MOST_QUIET = 1000


@dataclass(frozen=True, slots=True)
class Slope:
    """What the chart shows of one team."""

    rank: int
    public_rank: int
    team: str
    is_own: bool

    @property
    def css(self) -> str:
        """Its classes: whether it rose, and whether it is the reader's own."""
        change = self.public_rank - self.rank
        direction = "rose" if change > 0 else "fell" if change < 0 else "stayed"
        return f"{direction} own" if self.is_own else direction


def slope_chart(teams: Sequence[Slope], *, names: tuple[str, str] = ("Public", "Private")) -> str | None:
    """Draw these teams, sorted by their new rank, between two rankings; return None without any."""
    if not teams:
        return None
    last = max(max(team.rank, team.public_rank) for team in teams)
    named = _named(teams, last)
    bottom = TOP + STEP * (last - 1) if last <= ROWS else TOP + HEIGHT
    lefts, rights = (
        [_y(rank, last, bottom) for rank in ranks]
        for ranks in ((team.public_rank for team in named), (team.rank for team in named))
    )
    with_name = set(named)
    quiet = [team for team in teams if team not in with_name]
    parts = [text("name", 0, 16, names[0]), text("name", RIGHT, 16, names[1])]
    parts += _quiet_path(quiet, last, bottom)
    numbers, labels = (
        spread(ends, gap=LABEL_GAP, lowest=TOP, highest=max(bottom, TOP + LABEL_GAP * (len(named) - 1)))
        for ends in (lefts, rights)
    )
    for team, left, right, number, place in zip(named, lefts, rights, numbers, labels, strict=True):
        parts.append(polyline(f"slope {team.css}", [(LEFT, left), (RIGHT, right)]))
        parts.append(polyline("leader", [(RIGHT, right), (RIGHT + 8, place)]))
        parts.append(label("level-text", LEFT - 6, number, f"{team.public_rank:,}"))
        parts.append(label(f"label {team.css}", RIGHT + 12, place, f"{team.rank:,}. {shortened(team.team)}"))
    height = max([bottom, *labels, *numbers]) + STEP
    return picture("chart slopes", _description(teams, names), WIDTH, height, parts)


def _named(teams: Sequence[Slope], last: int) -> list[Slope]:
    if last <= ROWS:
        return list(teams)
    moved = heapq.nlargest(MOVED_COUNT, (team for team in teams if team.rank != team.public_rank), key=_share)
    chosen = set(moved)
    return [
        team
        for team in teams
        if team in chosen or team.is_own or min(team.rank, team.public_rank) <= TOP_COUNT
    ]


def _share(team: Slope) -> float:
    """How far a team moves in the picture: from 40 to 30 less than from 4 to 1."""
    return abs(math.log(team.public_rank / team.rank))


def _y(rank: int, last: int, bottom: float) -> float:
    if last == 1:
        return TOP
    share = (rank - 1) / (last - 1) if last <= ROWS else math.log(rank) / math.log(last)
    return TOP + (bottom - TOP) * share


def _quiet_path(teams: Iterable[Slope], last: int, bottom: float) -> Iterator[str]:
    """Yield one path of all lines without a name; those that would hide each other are drawn once."""
    ends = {
        tuple(2 * round(_y(r, last, bottom) / 2) for r in (team.public_rank, team.rank)) for team in teams
    }
    lines = sorted(ends)[:: 1 + len(ends) // MOST_QUIET]
    if lines:
        drawn = "".join(f"M{LEFT} {left}L{RIGHT} {right}" for left, right in lines)
        yield f'<path class="slope quiet" d="{drawn}"/>'


def _description(teams: Sequence[Slope], names: tuple[str, str]) -> str:
    moved = sum(team.rank != team.public_rank for team in teams)
    return (
        f"Ranks of {len(teams):,} {'team' if len(teams) == 1 else 'teams'}, {names[0]} to {names[1]}: "
        f"{moved:,} differ; the table below has the same numbers"
    )

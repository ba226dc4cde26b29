"""Slope chart that compares two rankings, with one line per team.

The chart is narrow so that its text is readable on a phone. If there are many teams, only the top teams, the
viewer's team and the teams that moved most have names. The other teams share one faint path.
"""

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.charts.svg import label, picture, polyline, shortened, spread, text

WIDTH, LEFT, RIGHT, TOP, STEP = 400, 42, 168, 36, 19
LABEL_GAP = 16
# Up to this number of ranks, each rank has a row and each team has a name. Above it, the scale is
# logarithmic.
ROWS = 20
HEIGHT = 420
TOP_COUNT, MOVED_COUNT = 3, 14
MOST_QUIET = 1000


@dataclass(frozen=True, slots=True)
class Slope:
    """One team's line in the chart."""

    rank: int
    public_rank: int
    team: str
    is_own: bool

    @property
    def css(self) -> str:
        """The CSS classes for the direction of the change and for the viewer's team."""
        change = self.public_rank - self.rank
        direction = "rose" if change > 0 else "fell" if change < 0 else "stayed"
        return f"{direction} own" if self.is_own else direction


def slope_chart(teams: Sequence[Slope], *, names: tuple[str, str] = ("Public", "Private")) -> str | None:
    """Render two rankings of teams, given in the order of the new ranks; None if there are no teams."""
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
    """Return the size of a team's move on a logarithmic scale: 40 to 30 counts less than 4 to 1."""
    return abs(math.log(team.public_rank / team.rank))


def _y(rank: int, last: int, bottom: float) -> float:
    if last == 1:
        return TOP
    share = (rank - 1) / (last - 1) if last <= ROWS else math.log(rank) / math.log(last)
    return TOP + (bottom - TOP) * share


def _quiet_path(teams: Iterable[Slope], last: int, bottom: float) -> Iterator[str]:
    """Yield one path for the lines of all unnamed teams, omitting overlapping lines."""
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
        f"Ranks of {len(teams):,} {'team' if len(teams) == 1 else 'teams'}, {names[0]} to {names[1]}. "
        f"Changed ranks: {moved:,}. The table below contains the same values."
    )

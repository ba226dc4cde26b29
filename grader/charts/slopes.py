"""Slope chart that compares two rankings, with one line per team.

The chart is narrow so that its text is readable on a phone. If there are many teams, only the top teams, the
viewer's team and the teams that moved most have names. The other teams share one faint path.
"""

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.charts.svg import Axis, Place, label, picture, polyline, shortened, spread, text
from grader.text import counted

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
    bottom = TOP + STEP * (last - 1) if last <= ROWS else TOP + HEIGHT
    ranks = Axis("", 1, max(last, 2), is_logarithmic=last > ROWS)

    def ends(team: Slope) -> Place:
        """Return the heights of both ends of a team's line."""
        return ranks.place(team.public_rank, TOP, bottom), ranks.place(team.rank, TOP, bottom)

    named = _named(teams, last)
    with_name = set(named)
    parts = [text("name", 0, 16, names[0]), text("name", RIGHT, 16, names[1])]
    parts += _quiet_path(ends(team) for team in teams if team not in with_name)
    lowest = max(bottom, TOP + LABEL_GAP * (len(named) - 1))
    numbers, labels = (
        spread(heights, gap=LABEL_GAP, lowest=TOP, highest=lowest)
        for heights in zip(*map(ends, named), strict=True)
    )
    for team, number, place in zip(named, numbers, labels, strict=True):
        left, right = ends(team)
        parts.append(polyline(f"slope {team.css}", [(LEFT, left), (RIGHT, right)]))
        parts.append(polyline("leader", [(RIGHT, right), (RIGHT + 8, place)]))
        parts.append(label("level-text", LEFT - 6, number, f"{team.public_rank:,}"))
        # The name is moved from the height of the old rank, so a style sheet can animate the movement.
        name = label(f"label {team.css}", RIGHT + 12, number, f"{team.rank:,}. {shortened(team.team)}")
        parts.append(name.replace("<text", f'<text transform="translate(0 {place - number:.1f})"', 1))
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


def _quiet_path(lines: Iterable[Place]) -> Iterator[str]:
    """Yield one path for the lines of all unnamed teams, omitting overlapping lines."""
    distinct = sorted({(2 * round(left / 2), 2 * round(right / 2)) for left, right in lines})
    if lines := distinct[:: 1 + len(distinct) // MOST_QUIET]:
        drawn = "".join(f"M{LEFT} {left}L{RIGHT} {right}" for left, right in lines)
        yield f'<path class="slope quiet" d="{drawn}"/>'


def _description(teams: Sequence[Slope], names: tuple[str, str]) -> str:
    moved = sum(team.rank != team.public_rank for team in teams)
    return (
        f"Ranks of {counted(len(teams), 'team')}, {names[0]} to {names[1]}. "
        f"Changed ranks: {moved:,}. The table below contains the same values."
    )

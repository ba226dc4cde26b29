"""Chart of the shake-up: a line for each team from its public rank to its private one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from grader.charts.labels import WIDTH, label, shortened, spread
from grader.charts.svg import picture, polyline, text

LEFT, RIGHT, TOP, STEP = 120, 620, 30, 17
RANK_GAP = 13
FAR_STEPS = 8


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


def slope_chart(teams: Sequence[Slope]) -> str | None:
    """Draw these teams; ranks past the last row share a compressed zone. Return None without any."""
    if not teams:
        return None
    rows = _Rows.of(teams)
    lefts = [rows.y(team.public_rank) for team in teams]
    parts = [text("level-text", LEFT, 14, "Public"), text("name", RIGHT, 14, "Private")]
    for team, left, place in zip(
        teams, lefts, spread(lefts, gap=RANK_GAP, lowest=TOP, highest=rows.bottom), strict=True
    ):
        right = rows.y(team.rank)
        parts.append(polyline(f"slope {team.css}", [(LEFT, left), (RIGHT, right)]))
        parts.append(label("level-text", LEFT - 8, place, f"{team.public_rank:,}"))
        parts.append(label(f"label {team.css}", RIGHT + 8, right, f"{team.rank}. {shortened(team.team)}"))
    description = "Slope chart from public to private ranks; the table below has the same numbers"
    return picture("chart", description, WIDTH, rows.bottom + STEP, parts)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where ranks lie: those up to `count` a row each, those from there to `last` by their logarithm."""

    count: int
    last: int

    @classmethod
    def of(cls, teams: Sequence[Slope]) -> "_Rows":
        ranks = sorted({team.rank for team in teams})
        count = next((place for place, rank in enumerate(ranks) if rank != place + 1), len(ranks))
        return cls(count, max(max(team.rank, team.public_rank) for team in teams))

    @property
    def far(self) -> int:
        return FAR_STEPS if self.last > self.count else 0

    @property
    def bottom(self) -> int:
        return TOP + STEP * (self.count + self.far)

    def y(self, rank: int) -> float:
        if rank <= self.count:
            return TOP + STEP * (rank - 1)
        first = max(1, self.count)
        share = math.log(rank / first) / math.log(self.last / first)
        return TOP + STEP * (self.count + (self.far - 1) * share)

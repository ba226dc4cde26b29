"""Chart of the best public score of teams over time, as steps.

It is drawn from displayed values alone, so that it shows no more than its table.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.charts.axes import Axis, time_marks
from grader.charts.labels import WIDTH, label, shortened, spread
from grader.charts.svg import Area, Place, levels, picture, polyline, text
from grader.ranking.order import Entry, score_text

HEIGHT = 340
AREA = Area(left=68, right=700, top=14, bottom=304)
LABEL_GAP = 15
COLOURS = 10
FLOOR_SPREADS = 4
SMALLEST_SPREAD = 200


@dataclass(frozen=True, slots=True)
class Steps:
    """What the chart shows of one team; `steps` is not empty."""

    rank: int
    team: str
    is_own: bool
    steps: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class StepChart:
    """The chart; scores below `floor`, where there are some, are drawn at the bottom edge."""

    svg: str
    floor: str | None


def step_chart(teams: Sequence[Steps], *, until: datetime) -> StepChart | None:
    """Draw these teams, best first, up to a time; return None without any."""
    if not teams:
        return None
    start = min(team.steps[0].submitted_at for team in teams)
    until = max(until, *(team.steps[-1].submitted_at for team in teams), start + timedelta(minutes=1))
    lowest = min(team.steps[0].score_units for team in teams)
    x = Axis("", start.timestamp(), until.timestamp())
    y = _score_axis(teams, lowest)
    parts = [*levels(y, AREA), *_times(x, start, until)]
    ends = [AREA.y(y, team.steps[-1].score_units) for team in teams]
    places = spread(ends, gap=LABEL_GAP, lowest=AREA.top, highest=AREA.bottom)
    lines = enumerate(zip(teams, ends, places, strict=True))
    for number, (team, end, place) in reversed(list(lines)):  # the best is drawn last, above the others
        css = f"s{number % COLOURS}{' own' if team.is_own else ''}"
        parts.append(polyline(f"step {css}", _corners(team.steps, x, y)))
        parts.append(polyline(f"leader {css}", [(AREA.right, end), (AREA.right + 12, place)]))
        parts.append(label(f"label {css}", AREA.right + 16, place, f"{team.rank}. {shortened(team.team)}"))
    description = (
        f"Step chart of the best public score of the first {len(teams)} teams over time; the table below has "
        "the same numbers"
    )
    svg = picture("chart", description, WIDTH, HEIGHT, parts)
    return StepChart(svg, score_text(int(y.low)) if lowest < y.low else None)


def _score_axis(teams: Sequence[Steps], lowest: int) -> Axis:
    """Return an axis on which the teams' last scores are apart, however low their first ones were."""
    top = max(team.steps[-1].score_units for team in teams)
    lowest_end = min(team.steps[-1].score_units for team in teams)
    floor = max(lowest, top - FLOOR_SPREADS * max(top - lowest_end, SMALLEST_SPREAD))
    if floor == top:
        floor = top - SMALLEST_SPREAD
    return Axis("", floor, top, write=lambda units: score_text(round(units)))


def _times(x: Axis, start: datetime, until: datetime) -> Iterator[str]:
    for moment, written in time_marks(start, until):
        at = AREA.x(x, moment.timestamp())
        yield f'<path class="rule" d="M{at:.1f} {AREA.bottom}v5"/>'
        yield text("tick", at, AREA.bottom + 20, written)
    yield f'<path class="rule" d="M{AREA.left} {AREA.bottom}H{AREA.right}"/>'


def _corners(steps: Iterable[Entry], x: Axis, y: Axis) -> Iterator[Place]:
    before: float | None = None
    for step in steps:
        at = AREA.x(x, step.submitted_at.timestamp())
        height = AREA.y(y, max(step.score_units, y.low))
        if before is not None:
            yield at, before
        yield at, height
        before = height
    if before is not None:
        yield AREA.right, before

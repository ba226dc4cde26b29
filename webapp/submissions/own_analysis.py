"""View of a team's analysis: histogram, identities that hold it back, two submissions compared."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.charts.axes import Axis
from grader.charts.bars import bar_chart
from grader.metrics.analysis.distributions import Distribution
from grader.metrics.analysis.uncertainty.held_back import HeldBack
from grader.models import Submission
from grader.ranking.order import score_text
from grader.reports.blocks import Cell, Chart, Table, table
from grader.services.leaderboards.submission_results import IdentityRow, SplitResult, Summary
from webapp.presentation.terms import IDENTITY_TERMS, NAMES, TERMS

SHOWN_GAINS = 10
SMALLEST_GAIN = 0.00005  # a smaller one would be displayed as 0
TICK_STEP = 5
TICK_UNIT = 4  # the axis has four steps, each a whole number
SMALLEST_WIDE, LARGEST_WIDE = 1e3, 1e12  # of all bins together
NONE = "-"


def histogram_chart(found: Distribution | None) -> Chart | None:
    """Return the chart of a file's predictions, None where there is no histogram."""
    if found is None:
        return None
    shares = [100 * share for share in found.shares]
    edges = _edges(found.edges)
    bars = [(edges[place] if place % TICK_STEP == 0 else "", share) for place, share in enumerate(shares)]
    title = f"All {found.rows:,} predictions of the file"
    highest = Axis("% of the rows", 0.0, TICK_UNIT * math.ceil(max(shares) / TICK_UNIT))
    lines = [
        (f"{low} to {high}", f"{count:,}", f"{share:.1f} %")
        for low, high, count, share in zip(edges[:-1], edges[1:], found.counts, shares, strict=True)
    ]
    svg = bar_chart(title, bars, highest, "prediction")
    return Chart(svg, table(title, ("prediction", "rows", "share"), lines))


def held_back_table(found: HeldBack | None) -> Table | None:
    """Return the AUCs whose rise to their median would help most; None where there is nothing to rank."""
    gains = [gain for gain in found.cells if gain.gain >= SMALLEST_GAIN][:SHOWN_GAINS] if found else []
    if not gains:
        return None
    lines = [
        (
            f"{gain.name}, {NAMES[gain.cell]}",
            f"+{gain.gain:.4f}",
            f"{gain.value:.2f}",
            f"{gain.median:.3g}",
        )
        for gain in gains
    ]
    head = ("AUC", "score gain", "now", "median")
    return table("Where to gain most, on the public rows", head, lines)


@dataclass(frozen=True, slots=True)
class ComparedSplit:
    """Two submissions on one split: the score and its terms, and the tables where they may be seen."""

    name: str
    scores: Table
    identities: Table | None


def compared(
    candidate: tuple[Submission, Summary], baseline: tuple[Submission, Summary]
) -> list[ComparedSplit]:
    """Return two submissions side by side on each split on which both may be seen, and what differs."""
    names = tuple(f"#{submission.id}" for submission, _ in (candidate, baseline))
    results = (
        ("Public rows", candidate[1].public, baseline[1].public),
        ("Private rows", candidate[1].private, baseline[1].private),
    )
    return [
        ComparedSplit(name, _scores(name, names, one, other), _identities(name, names, one, other))
        for name, one, other in results
        if one is not None and other is not None
    ]


def _scores(caption: str, names: tuple[str, ...], one: SplitResult, other: SplitResult) -> Table:
    lines: list[Sequence[Cell | str]] = [
        ("Score", one.score, other.score, _signed_units(one.score_units - other.score_units))
    ]
    for term in TERMS:
        if term.key in one.terms and term.key in other.terms:
            mine, theirs = one.terms[term.key], other.terms[term.key]
            lines.append((term.name, f"{mine:.4f}", f"{theirs:.4f}", _signed(mine - theirs, 4)))
    return table(f"{caption}: score and terms", ("", *names, "difference"), lines)


def _identities(caption: str, names: tuple[str, ...], one: SplitResult, other: SplitResult) -> Table | None:
    by_name = {row.name: row for row in other.identities}
    lines = [_line(row, by_name[row.name]) for row in one.identities if row.name in by_name]
    if not lines:
        return None
    head = ("identity", *(len(IDENTITY_TERMS) * (*names, "difference")))
    groups = [(term.name, 3) for term in IDENTITY_TERMS]
    return table(f"{caption}: identities", head, lines, groups=groups)


def _line(one: IdentityRow, other: IdentityRow) -> list[Cell | str]:
    return [one.name, *(cell for term in IDENTITY_TERMS for cell in _cells(one, other, term.key))]


def _cells(one: IdentityRow, other: IdentityRow, key: str) -> Iterator[Cell | str]:
    mine, theirs = one.cells[key], other.cells[key]
    yield NONE if mine is None else f"{mine:.2f}"
    yield NONE if theirs is None else f"{theirs:.2f}"
    yield NONE if mine is None or theirs is None else _signed(mine - theirs, 2)


def _edges(edges: Sequence[float]) -> list[str]:
    """Return the edges of bins as texts: whole numbers where the bins are wide."""
    is_wide = SMALLEST_WIDE <= edges[-1] - edges[0] < LARGEST_WIDE
    return [f"{edge:,.0f}" if is_wide else f"{edge:.3g}" for edge in edges]


def _signed(value: float, digits: int) -> str:
    text = f"{value:+.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text


def _signed_units(units: int) -> str:
    return f"{'-' if units < 0 else '+' if units else ''}{score_text(abs(units))}"

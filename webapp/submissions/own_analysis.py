"""View of the histogram of a file's predictions."""

import math
from collections.abc import Sequence

from grader.charts.axes import Axis
from grader.charts.bars import bar_chart
from grader.metrics.analysis.distributions import Distribution
from grader.reports.blocks import Chart, table

TICK_STEP = 5
TICK_UNIT = 4  # the axis has four steps, each a whole number
SMALLEST_WIDE, LARGEST_WIDE = 1e3, 1e12  # of all bins together


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


def _edges(edges: Sequence[float]) -> list[str]:
    """Return the edges of bins as texts: whole numbers where the bins are wide."""
    is_wide = SMALLEST_WIDE <= edges[-1] - edges[0] < LARGEST_WIDE
    return [f"{edge:,.0f}" if is_wide else f"{edge:.3g}" for edge in edges]

"""Report charts: distributions, equality curves, rates and fractions."""

import numpy as np
import pandas as pd

from fairboard.bias.analysis.distributions import aeg, widest
from grader.charts.rates_and_bars import bar_chart, rate_chart
from grader.charts.svg import Axis
from grader.reports.blocks import Table

MOST_POINTS, MOST_LINES = 200, 12
MARK_EVERY = 6  # bins of a histogram


def distribution_chart(name: str, of: str, bins: pd.DataFrame) -> Table:
    """Return the histograms of a subgroup and of its background, as shares of their rows."""
    counts = {f"{group} share": bins[f"{group}_{of}"] for group in ("background", "subgroup")}
    shares = pd.DataFrame({group: each / max(each.sum(), 1) for group, each in counts.items()})
    ranges = [f"{low:.3g} to {high:.3g}" for low, high in zip(bins["low"], bins["high"], strict=True)]
    shares.index = pd.Index(ranges, name="prediction")
    marks = [f"{low:.3g}" if place % MARK_EVERY == 0 else "" for place, low in enumerate(bins["low"])]
    svg = bar_chart(
        f"Predictions for {of} rows that mention {name} and for its background",
        list(zip(marks, shares.to_numpy().tolist(), strict=True)),
        ["background", name],
        Axis("share of rows", 0, max(float(shares.to_numpy().max()), 0.01) * 1.05),
        "prediction, from",
    )
    return Table(f"{name}, {of} rows", f"{name}, {of} rows", shares, svg=svg)


def _selected(curve: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return evenly spaced rows, with both ends and the widest gap."""
    places = np.linspace(0, len(curve) - 1, most).astype(np.int64)
    return curve.iloc[np.union1d(places, curve["equality_gap"].abs().argmax())]


def curve_chart(name: str, of: str, curve: pd.DataFrame) -> Table:
    """Return an equality curve with its widest gap, and a table of thresholds."""
    gap, title = widest(curve), f"{name}, {of} rows"
    caption = f"{title}: AEG {aeg(curve):+.3f}"
    note = f"Equality Gap {gap['equality_gap']:+.3f} at {gap['threshold']:.4g}"
    mark = gap["subgroup_rate"], gap["background_rate"], note
    rates = _selected(curve, MOST_POINTS)[["subgroup_rate", "background_rate"]]
    points = [(0.0, 0.0), *rates.itertuples(index=False, name=None)]
    svg = rate_chart(caption, points, f"{name} at or above", "background at or above", mark)
    return Table(title, caption, _selected(curve, MOST_LINES).set_index("threshold"), svg=svg)


def rate_chart_of(caption: str, rates: pd.DataFrame) -> Table:
    """Return a bar chart like Figure 11, which shows the rate of each group for each label."""
    table = rates.set_index(["label", "group"])["rate"].unstack(sort=False)
    bars = [(label, line) for label, *line in table.itertuples(name=None)]
    svg = bar_chart(caption, bars, list(table.columns), Axis("share of the pairs", 0, 1))
    return Table("rates by group", caption, table, svg=svg)


def fraction_chart(name: str, tenths: pd.Series) -> Table:
    """Return a bar chart like Figure 5 of the values of a column, rounded to tenths."""
    title = f"{name}: distribution of values"
    axis = Axis("rows (logarithmic)", 0.5, max(*tenths, 1) * 1.3, is_logarithmic=True)
    bars = [(f"{tenth:g}", [rows]) for tenth, rows in tenths.items()]
    svg = bar_chart(title, bars, (), axis, "value, rounded to tenths")
    return Table(title, title, tenths.to_frame("rows").rename_axis("value"), svg=svg)

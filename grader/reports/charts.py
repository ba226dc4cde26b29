"""Report charts: distributions, equality curves, rates and fractions."""

from itertools import pairwise

import numpy as np
import pandas as pd

from fairboard.bias.analysis.association import TENTHS
from fairboard.bias.analysis.distributions import aeg, widest
from grader.charts.lines_and_bars import Series, bar_chart, line_chart, outline, rate_chart
from grader.charts.svg import Axis
from grader.reports.blocks import Table, heading

MOST_POINTS, MOST_LINES = 200, 12


def power_chart(caption: str, effects: pd.DataFrame) -> Table:
    """Return the values by exponent as lines."""
    lines = {name: effects[name].dropna() for name in effects}
    series = [
        Series(heading(name), list(zip(line.index.tolist(), line.tolist(), strict=True)), place)
        for place, (name, line) in enumerate(lines.items())
        if len(line)
    ]
    y = Axis.around("value", (value for one in series for _, value in one.points))
    svg = line_chart("Score by exponent p", series, Axis("exponent p", -10, 1), y) if series else ""
    return Table("power", caption, effects, digits=4, svg=svg)


def distribution_chart(name: str, of: str, bins: pd.DataFrame) -> Table:
    """Return the histograms of a subgroup and of its background, as shares of their rows."""
    edges = [*bins["low"].tolist(), float(bins["high"].iloc[-1])]
    counts = {f"{group} share": bins[f"{group}_{of}"] for group in ("subgroup", "background")}
    shares = pd.DataFrame({group: each / max(each.sum(), 1) for group, each in counts.items()})
    series = [
        Series(each, outline(edges, shares[f"{group} share"].tolist()), place)
        for place, (each, group) in enumerate({"background": "background", name: "subgroup"}.items())
    ]
    svg = line_chart(
        f"Predictions for {of} rows that mention {name} and for its background",
        series,
        Axis("prediction", edges[0], edges[-1]),
        Axis("share of rows", 0, max(float(shares.to_numpy().max()), 0.01) * 1.05),
    )
    shares.index = pd.Index([f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)], name="prediction")
    return Table(f"{name}, {of} rows", f"{name}, {of} rows", shares, svg=svg, in_text=False)


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
    return Table(title, caption, _selected(curve, MOST_LINES).set_index("threshold"), svg=svg, in_text=False)


def rate_chart_of(caption: str, rates: pd.DataFrame) -> Table:
    """Return a bar chart like Figure 11, which shows the rate of each group for each label."""
    table = 100 * rates.pivot(index="label", columns="group", values="rate")
    table = table.loc[rates["label"].unique(), rates["group"].unique()].rename_axis(columns=None)
    bars = [
        (label, [None if pd.isna(rate) else rate for rate in line])
        for label, *line in table.itertuples(name=None)
    ]
    svg = bar_chart(caption, bars, list(table.columns), Axis("% of the pairs", 0, 100))
    return Table("rates by group", f"{caption}, in percent", table, svg=svg, in_text=False)


def fraction_chart(name: str, tenths: pd.Series) -> Table:
    """Return a bar chart like Figure 5 of the values of a column, rounded to tenths."""
    title = f"{name}: distribution of values"
    labels = [f"{tenth:g}" for tenth in TENTHS]
    axis = Axis("rows (logarithmic)", 0.5, max(*tenths, 1) * 1.3, is_logarithmic=True)
    bars = [(label, [rows]) for label, rows in zip(labels, tenths.tolist(), strict=True)]
    svg = bar_chart(title, bars, (), axis, "value, rounded to tenths")
    return Table(
        title, title, pd.DataFrame({"rows": tenths.tolist()}, pd.Index(labels, name="value")), svg=svg
    )

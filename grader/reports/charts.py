"""Charts of reports: distributions, equality curves, rates and fractions."""

from itertools import pairwise

import numpy as np
import pandas as pd

from fairboard.bias.analysis.association import TENTHS
from fairboard.bias.analysis.curve import aeg, widest
from grader.charts.frame import Series, bar_chart, line_chart, outline, rate_chart
from grader.charts.svg import Axis
from grader.reports.blocks import Chart, ColumnFormat, Table, count, decimals, scaled, share, signed

MARKS = {
    "subgroup_rate": ColumnFormat("subgroup", decimals(3)),
    "background_rate": ColumnFormat("background", decimals(3)),
    "equality_gap": ColumnFormat("Equality Gap", signed(3)),
}
# The table of a curve lists the thresholds that these shares of the background reach.
SHARES = tuple(tenth / 10 for tenth in range(1, 10))
MOST_POINTS = 200


def distribution_chart(name: str, label_class: str, bins: pd.DataFrame, moments: pd.DataFrame) -> Chart:
    """Return the histograms of a subgroup and of its background, as shares of their rows."""
    edges = [*bins["low"].tolist(), float(bins["high"].iloc[-1])]
    counts = {group: bins[f"{group}_{label_class}"] for group in ("subgroup", "background")}
    shares = pd.DataFrame({group: each / max(each.sum(), 1) for group, each in counts.items()})
    means = [f"mean {scaled(moments['mean'][f'{group}_{label_class}'])}" for group in counts]
    svg = line_chart(
        f"Predictions for {label_class} rows that mention {name} ({means[0]}) and for its background "
        f"({means[1]})",
        [
            Series(each, outline(edges, shares[group].tolist()), place)
            for place, (each, group) in enumerate({"background": "background", name: "subgroup"}.items())
        ],
        Axis("prediction", edges[0], edges[-1]),
        Axis("share of rows", 0, max(float(shares.to_numpy().max()), 0.01) * 1.05),
    )
    shares.index = pd.Index([f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)], name="prediction")
    columns = {"subgroup": ColumnFormat(name, share), "background": ColumnFormat("background", share)}
    title = f"{name}, {label_class} rows"
    return Chart(svg, Table(title, title, shares, columns), summed_up=True)


def points(curve: pd.DataFrame) -> list[tuple[float, float]]:
    """Return a selection of the bends of a curve and both ends.

    A curve bends only at a prediction of the subgroup and immediately before one; elsewhere it is vertical.
    """
    rises = curve["subgroup"].diff().fillna(curve["subgroup"]) > 0
    bends = curve[rises | rises.shift(-1, fill_value=True)]
    kept = np.linspace(0, len(bends), min(len(bends) + 1, MOST_POINTS)).round().astype(np.int64)[1:] - 1
    rates = bends.iloc[kept][["subgroup_rate", "background_rate"]]
    return [(0.0, 0.0), *rates.itertuples(index=False, name=None)]


def curve_chart(name: str, label_class: str, curve: pd.DataFrame) -> Chart:
    """Return an equality curve with its widest gap, and a table of thresholds."""
    gap, title = widest(curve), f"{name}, {label_class} rows"
    caption = f"{title}: AEG {aeg(curve):+.3f}"
    note = f"Equality Gap {gap['equality_gap']:+.3f} at {gap['threshold']:.4g}"
    mark = gap["subgroup_rate"], gap["background_rate"], note
    svg = rate_chart(caption, points(curve), f"{name} at or above", "background at or above", mark)
    reached = [int((curve["background_rate"] >= each).argmax()) for each in SHARES]
    marks = curve.iloc[sorted({*reached, int(curve["equality_gap"].abs().argmax())})]
    marks = marks.set_axis(pd.Index([f"{each:.4g}" for each in marks["threshold"]], name="threshold"))
    return Chart(svg, Table(title, caption, marks.drop(columns="threshold"), MARKS), summed_up=True)


def rate_bars(caption: str, rates: pd.DataFrame) -> Chart:
    """Return a bar chart like Figure 11, which shows the rate of each group for each label."""
    table = rates.pivot(index="label", columns="group", values="rate")
    table = table.loc[rates["label"].unique(), rates["group"].unique()]
    bars = [
        (label, [None if pd.isna(rate) else 100 * rate for rate in line])
        for label, *line in table.itertuples(name=None)
    ]
    svg = bar_chart(caption, bars, list(table.columns), Axis("% of the pairs", 0, 100))
    columns = {group: ColumnFormat(group, share) for group in table}
    return Chart(svg, Table("rates by group", caption, table, columns), summed_up=True)


def fraction_chart(name: str, tenths: pd.Series) -> Chart:
    """Return a bar chart like Figure 5 of the values of a column, rounded to tenths."""
    title = f"{name}: distribution of values"
    labels = [f"{tenth:g}" for tenth in TENTHS]
    axis = Axis("rows (logarithmic)", 0.5, max(*tenths, 1) * 1.3, is_logarithmic=True)
    bars = [(label, [rows]) for label, rows in zip(labels, tenths.tolist(), strict=True)]
    svg = bar_chart(title, bars, (), axis, "value, rounded to tenths")
    frame = pd.DataFrame({"rows": tenths.tolist()}, pd.Index(labels, name="value"))
    return Chart(svg, Table(title, title, frame, {"rows": ColumnFormat("rows", count)}))

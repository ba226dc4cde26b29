"""Report charts for one model: prediction distributions and equality curves."""

from collections.abc import Iterator, Sequence

from fairboard.bias.analysis.curve import EqualityCurve, LabelClass, ThresholdMark, equality_curves
from fairboard.bias.analysis.distributions import Distribution, ScoreDistributions, all_distributions
from fairboard.bias.analysis.rows import Rows
from grader.charts.frame import Series, line_chart, outline, rate_chart
from grader.charts.svg import Axis
from grader.reports.blocks import Cell, Chart, Section, number, scaled, share, signed, table

BINS = 25
CLASSES: tuple[LabelClass, ...] = ("negative", "positive")
# The table of a curve lists the thresholds that these shares of the background reach.
SHARES = tuple(tenth / 10 for tenth in range(1, 10))


def distributions_section(rows: Rows, names: Sequence[str]) -> Section:
    """Return the distributions of the predictions for each subgroup and background, by class."""
    distributions = list(all_distributions(rows.only(names), bins=BINS))
    lines = [
        (each.name, label_class, *_moments(subgroup), *_moments(background))
        for each in distributions
        for label_class, subgroup, background in _sets(each)
    ]
    head = ("identity", "class", *(2 * ("rows", "mean", "deviation")))
    groups = (("", 1), ("subgroup", 3), ("background", 3))
    summary = table("Predictions by class", head, lines, groups=groups)
    charts = (_distribution_chart(each, *of_class) for each in distributions for of_class in _sets(each))
    return Section(
        "distributions",
        "Distributions of predictions",
        ("The charts show shares of rows so that sets of different sizes can be compared.",),
        (summary, *charts),
        [each.as_dict() for each in distributions],
    )


def curves_section(rows: Rows, names: Sequence[str]) -> Section:
    """Return the equality curves with their widest gaps marked; the area to the diagonal is the AEG."""
    curves = sorted(equality_curves(rows.only(names), CLASSES), key=lambda curve: names.index(curve.name))
    text = (
        "Each point on a curve corresponds to a threshold. Its coordinates are the shares of the subgroup "
        "and of the background at or above this threshold. On the diagonal, the two shares are equal. The "
        "shaded area between "
        "curve and diagonal is the AEG. An AEG above 0 (lower right) means that the subgroup is scored "
        "higher. An AEG of 0 does not imply equal treatment because a curve may cross the diagonal. The ring "
        "marks the threshold with the largest difference between the two shares."
    )
    lines = [
        (curve.name, curve.label_class, signed(curve.aeg), *_mark_cells(curve.widest())) for curve in curves
    ]
    head = ("identity", "class", "AEG", "widest at", "subgroup", "background", "Equality Gap")
    summary = table("AEGs and the thresholds with the widest gaps", head, lines)
    return Section(
        "curves",
        "Equality curves",
        (text,),
        (summary, *map(_curve_chart, curves)),
        [curve.as_dict() for curve in curves],
    )


def _sets(scores: ScoreDistributions) -> Iterator[tuple[str, Distribution, Distribution]]:
    yield "negative", scores.subgroup_negative, scores.background_negative
    yield "positive", scores.subgroup_positive, scores.background_positive


def _moments(distribution: Distribution) -> tuple[str, str, str]:
    return f"{distribution.rows:,}", scaled(distribution.mean), scaled(distribution.deviation)


def _distribution_chart(
    scores: ScoreDistributions, label_class: str, subgroup: Distribution, background: Distribution
) -> Chart:
    edges = background.edges
    series = [
        Series("background", outline(edges, background.shares), 0),
        Series(scores.name, outline(edges, subgroup.shares), 1),
    ]
    highest = max((*background.shares, *subgroup.shares, 0.01))
    title = f"{scores.name}, {label_class} rows"
    svg = line_chart(
        f"Predictions for {label_class} rows that mention {scores.name} (mean {scaled(subgroup.mean)}) and "
        f"for its background (mean {scaled(background.mean)})",
        series,
        Axis("prediction", edges[0], edges[-1]),
        Axis("share of rows", 0, highest * 1.05),
    )
    lines = [
        (f"{low:.3g} to {high:.3g}", share(inside), share(outside))
        for low, high, inside, outside in zip(
            edges[:-1], edges[1:], subgroup.shares, background.shares, strict=True
        )
    ]
    return Chart(svg, table(title, ("prediction", scores.name, "background"), lines), is_summed_up=True)


def _curve_chart(curve: EqualityCurve) -> Chart:
    widest = curve.widest()
    title = f"{curve.name}, {curve.label_class} rows: AEG {curve.aeg:+.3f}"
    text = f"Equality Gap {widest.equality_gap:+.3f} at {widest.threshold:.4g}"
    svg = rate_chart(
        title,
        curve.points(),
        f"{curve.name} at or above",
        "background at or above",
        (widest.subgroup_rate, widest.background_rate, text),
    )
    lines = [_mark_cells(mark) for mark in _marks(curve)]
    head = ("threshold", "subgroup", "background", "Equality Gap")
    return Chart(svg, table(title, head, lines), is_summed_up=True)


def _marks(curve: EqualityCurve) -> list[ThresholdMark]:
    """Return the marks at the background shares in `SHARES` and at the widest gap."""
    thresholds = {*curve.reaching(SHARES).tolist(), curve.widest().threshold}
    return [curve.at(threshold) for threshold in sorted(thresholds, reverse=True)]


def _mark_cells(mark: ThresholdMark) -> tuple[Cell | str, ...]:
    rates = number(mark.subgroup_rate), number(mark.background_rate)
    return (f"{mark.threshold:.4g}", *rates, signed(mark.equality_gap))

"""What one model's predictions give: the score with its intervals, the identities, and what holds it back."""

from collections.abc import Iterator, Mapping, Sequence

from grader.metrics import MetricSettings, PreparedSplit
from grader.metrics.analysis.curve import EqualityCurve, equality_curves
from grader.metrics.analysis.distributions import ScoreDistributions, all_distributions
from grader.metrics.analysis.influence import Sets
from grader.metrics.analysis.intervals import Estimate
from grader.metrics.analysis.pinned import NOT_ROBUST, pinned_aucs
from grader.metrics.analysis.power import held_back, power_effect
from grader.metrics.analysis.rows import Rows
from grader.metrics.analysis.table import CELLS, MetricTable, metric_table
from grader.metrics.analysis.uncertainty import UncertaintyReport, uncertainty_report
from grader.metrics.subgroups import BIAS_AUCS
from grader.reports.blocks import (
    UNDEFINED,
    Cell,
    Chart,
    Section,
    Table,
    metric,
    number,
    share,
    signed,
    table,
)
from grader.reports.svg import Axis, Series, line_chart, outline

WORDS = {
    "score": "Score",
    "overall_auc": "Overall AUC",
    "subgroup_auc": "Subgroup AUC",
    "bpsn_auc": "BPSN AUC",
    "bnsp_auc": "BNSP AUC",
    "negative_aeg": "Negative AEG",
    "positive_aeg": "Positive AEG",
}
UNCHECKED = (
    "Intervals marked ° lie outside the range where their coverage was checked: at least 50 rows in each "
    "compared set, and AUCs between 0.6 and 0.95."
)


def score_section(report: UncertaintyReport) -> Section:
    """Return the score and its terms with their intervals."""
    estimates: dict[str, Estimate] = {"score": report.score, "overall_auc": report.overall_auc}
    for term, each in report.power_means.items():
        estimates[term] = each
    lines = [
        (WORDS[name], number(each.value, 5), number(each.standard_error, 5), interval(each, 5))
        for name, each in estimates.items()
    ]
    caption = f"{report.report.rows:,} rows, {report.report.positives:,} of them positive"
    head = ("term", "value", "standard error", f"{report.level:.0%} interval")
    reasons = tuple(str(each) for each in report.report.undefined if each.affects_score)
    return Section(
        "score",
        "The score, and how sure it is",
        (UNCHECKED, *reasons),
        (table(caption, head, lines),),
        report.report.as_dict() | {"intervals": report.as_dict()},
    )


def identities_section(found: MetricTable, report: UncertaintyReport | None, *, lowest: int) -> Section:
    """Return the table of all five metrics, the lowest lines, and the intervals of all."""
    blocks = [metrics_table("All identities, the lowest mean AUC first", found.sorted_by("mean_auc"))]
    if lowest and lowest < len(found.lines):
        blocks.insert(0, metrics_table(f"The {lowest} lowest", found.lowest(lowest)))
    if report is not None:
        lines = [
            [line.name, *(interval(report.cells[line.name][cell], 3) for cell in CELLS)]
            for line in found.lines
        ]
        blocks.append(
            table(f"{report.level:.0%} intervals", ("identity", *(WORDS[cell] for cell in CELLS)), lines)
        )
    background = "all rows that do not mention it" if found.background == "all" else "rows known not to"
    texts = [f"Each is compared with {background}."]
    if found.too_small:
        names = ", ".join(f"{name} ({size:,})" for name, size in found.too_small)
        texts.append(f"Left out, for too few rows mention them: {names}.")
    return Section("identities", "The identities", tuple(texts), tuple(blocks), found.as_dict())


def slices_section(rows: Mapping[str, Rows], minimum_size: int) -> Section:
    """Return the table of each slice of the data, as Table 6 of Borkan et al. does for short comments."""
    tables = {name: metric_table(part, minimum_size=minimum_size) for name, part in rows.items()}
    blocks = tuple(
        metrics_table(f"{name}: {found.rows:,} rows, overall AUC {number(found.overall_auc)}", found)
        for name, found in tables.items()
    )
    data = {name: found.as_dict() for name, found in tables.items()}
    return Section("slices", "Slices of the data", (), blocks, data)


def metrics_table(caption: str, found: MetricTable) -> Table:
    """Return the five metrics of each line in the colours of the paper's Tables 3 and 6."""
    reasons = {(each.subgroup, each.term): each.reason for each in found.undefined}
    lines: list[list[Cell | str]] = [
        [
            line.name,
            f"{line.size:,}",
            share(line.share_positive),
            *(metric(cell, getattr(line, cell), title=reasons.get((line.name, cell), "")) for cell in CELLS),
        ]
        for line in found.lines
    ]
    return table(caption, ("identity", "count", "positive", *(WORDS[cell] for cell in CELLS)), lines)


def held_back_section(found: MetricTable, settings: MetricSettings) -> Section:
    """Return what holds the score back, and what the exponent does to it."""
    held = held_back(found.lines, settings)
    effects = power_effect(found.overall_auc, found.lines, settings)
    cells = table(
        "What the score would gain if one AUC rose to the median of its column",
        ("identity", "AUC", "value", "median", "gain"),
        (
            (each.name, WORDS[each.cell], number(each.value), number(each.median), signed(each.gain, 5))
            for each in held.cells[:12]
        ),
    )
    names = ("score", *BIAS_AUCS)
    numbers = table(
        "The exponent's effect",
        ("p", *(WORDS[name] for name in names)),
        ((f"{each.power:g}", *(number(getattr(each, name), 4) for name in names)) for each in effects),
    )
    series = [
        Series(WORDS[name], points, place)
        for place, name in enumerate(names)
        if (points := [(each.power, value) for each in effects if (value := getattr(each, name)) is not None])
    ]
    blocks: list[Table | Chart] = [cells]
    if series:
        y = Axis.around("value", (value for one in series for _, value in one.points))
        svg = line_chart("The score by the exponent p", series, Axis("exponent p", -10, 1), y)
        blocks.append(Chart(svg, numbers))
    data = {"held_back": held.as_dict(), "power": [each.as_dict() for each in effects]}
    return Section("held_back", "What holds the score back", (), tuple(blocks), data)


def distributions_section(rows: Rows, names: Sequence[str]) -> Section:
    """Return how the predictions of subgroup and background are distributed, class by class."""
    found = list(all_distributions(rows.only(names), bins=25))
    blocks = tuple(chart for each in found for chart in _distribution_charts(each))
    return Section(
        "distributions",
        "Distributions of the predictions",
        ("Shares of rows, so that sets of different sizes can be compared.",),
        blocks,
        [each.as_dict() for each in found],
    )


def curves_section(rows: Rows, names: Sequence[str]) -> Section:
    """Return the curves whose area against the diagonal is the AEG, with the widest gap marked."""
    curves = sorted(
        equality_curves(rows.only(names), ("negative", "positive")),
        key=lambda curve: names.index(curve.name),
    )
    text = (
        "Each point is a threshold: the share of the subgroup and of its background at or above it. On the "
        "diagonal both are treated alike; the area between is the AEG. An AEG of 0 does not mean that they "
        "are: a curve may cross the diagonal."
    )
    blocks = tuple(_curve_chart(curve) for curve in curves)
    return Section("curves", "Equality curves", (text,), blocks, [curve.as_dict() for curve in curves])


def pinned_section(rows: Rows) -> Section:
    """Return the pinned AUCs with their decomposition, and the warning."""
    found = pinned_aucs(rows)
    parts = ("background_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc")
    lines: list[list[Cell | str]] = []
    for each in found:
        by_name = {part.name: part for part in each.parts}
        lines.append(
            [
                each.name,
                Cell(number(each.value), title=each.reason or ""),
                *(
                    f"{number(by_name[part].auc)} x {by_name[part].weight:.3f}"
                    if part in by_name
                    else UNDEFINED
                    for part in parts
                ),
            ]
        )
    head = ("identity", "pinned AUC", "background", "subgroup", "BPSN", "BNSP")
    block = table("The expected pinned AUC: four AUCs by their weights", head, lines)
    return Section(
        "pinned", "Pinned AUC (not robust)", (NOT_ROBUST,), (block,), [each.as_dict() for each in found]
    )


def measured(rows: Rows, split: PreparedSplit) -> UncertaintyReport | None:
    """Return the report with intervals; they are made for the score's own background alone."""
    if rows.background != "all":
        return None
    return uncertainty_report(Sets(split), rows.predictions, rows.settings)


def interval(each: Estimate, digits: int) -> str:
    """Return an interval in words; ° marks one outside the checked range."""
    if each.low is None or each.high is None:
        return UNDEFINED
    return f"{each.low:.{digits}f} to {each.high:.{digits}f}{'' if each.is_checked else '°'}"


def _distribution_charts(found: ScoreDistributions) -> Iterator[Chart]:
    for label_class in ("negative", "positive"):
        background = getattr(found, f"background_{label_class}")
        subgroup = getattr(found, f"subgroup_{label_class}")
        edges = background.edges
        series = [
            Series("background", outline(edges, background.shares), 0),
            Series(found.name, outline(edges, subgroup.shares), 1),
        ]
        highest = max((*background.shares, *subgroup.shares, 0.01))
        title = f"Predictions of {label_class} rows: {found.name} and background"
        svg = line_chart(
            title, series, Axis("prediction", edges[0], edges[-1]), Axis("share of rows", 0, highest * 1.05)
        )
        lines = [
            (name, f"{each.rows:,}", number(each.mean), number(each.deviation))
            for name, each in (("background", background), (found.name, subgroup))
        ]
        yield Chart(svg, table(title, ("rows of", "count", "mean", "deviation"), lines))


def _curve_chart(curve: EqualityCurve) -> Chart:
    widest = curve.widest()
    title = f"{curve.name}, {curve.label_class} rows: AEG {curve.aeg:+.3f}"
    mark = (
        widest.subgroup_rate,
        widest.background_rate,
        f"threshold {widest.threshold:.3g}: Equality Gap {widest.equality_gap:+.3f}",
    )
    svg = line_chart(
        title,
        [Series(curve.name, curve.points(), 1)],
        Axis(f"{curve.name} at or above", 0, 1),
        Axis("background at or above", 0, 1),
        has_diagonal=True,
        marks=[mark],
    )
    line = (
        number(curve.aeg),
        f"{widest.threshold:.4g}",
        number(widest.subgroup_rate),
        number(widest.background_rate),
        signed(widest.equality_gap),
    )
    head = ("AEG", "threshold of the widest gap", "subgroup's rate", "background's rate", "Equality Gap")
    return Chart(svg, table(title, head, [line]))

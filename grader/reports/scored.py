"""Report sections on a model's score and its comparison with a second model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grader.charts.frame import Series, line_chart
from grader.charts.svg import Axis
from grader.metrics import MetricSettings
from grader.metrics.bias.analysis.influence import Measured, Sets
from grader.metrics.bias.analysis.intervals import (
    CHECKED_BIAS,
    CHECKED_CELLS,
    CHECKED_DIFFERENCES,
    CHECKED_IDENTITIES,
    CHECKED_MEAN,
    CHECKED_MEANS,
    CHECKED_POWERS,
    Estimate,
    UncertaintyReport,
    ValidatedRange,
)
from grader.metrics.bias.analysis.paired_differences import Difference, PairedReport, paired_report
from grader.metrics.bias.analysis.pinned_auc import NOT_ROBUST, pinned_aucs
from grader.metrics.bias.analysis.power_means import held_back, power_effect
from grader.metrics.bias.analysis.rows import CountedRows, Rows
from grader.metrics.bias.analysis.skew_scenarios import SkewExperiment
from grader.metrics.bias.analysis.table import (
    CELLS,
    Column,
    LineDifference,
    MetricTable,
    TableLine,
    compare_tables,
    metric_table,
)
from grader.metrics.bias.subgroups import BIAS_AUCS
from grader.metrics.bias.subgroups import Cell as MetricCell
from grader.reports.blocks import (
    UNDEFINED,
    Cell,
    Chart,
    Section,
    Table,
    listed,
    metric,
    number,
    scaled,
    share,
    signed,
    table,
    why_empty,
)

MOST_GAINS = 12
TOLERATED = 0.05
WORDS = {
    "score": "Score",
    "overall_auc": "Overall AUC",
    "subgroup_auc": "Subgroup AUC",
    "bpsn_auc": "BPSN AUC",
    "bnsp_auc": "BNSP AUC",
    "negative_aeg": "Negative AEG",
    "positive_aeg": "Positive AEG",
}
SHORT = {
    "subgroup_auc": "Subgroup",
    "bpsn_auc": "BPSN",
    "bnsp_auc": "BNSP",
    "negative_aeg": "AEG-",
    "positive_aeg": "AEG+",
}


def _range(checked: ValidatedRange) -> str:
    rows, lowest, highest = checked
    return f"at least {rows} rows in each compared set and AUCs between {lowest} and {highest}"


UNVERIFIED = "Intervals marked ° are outside the range in which their coverage was verified"
UNCHECKED_MEANS = (
    f"{UNVERIFIED}: at least {CHECKED_MEANS.rows} rows in each compared set, AUCs of at least "
    f"{CHECKED_MEANS.lowest}, a value of at most {CHECKED_MEAN}, powers from {CHECKED_POWERS[0]:g} to "
    f"{CHECKED_POWERS[1]:g}, at most {CHECKED_IDENTITIES} identities, and a bias of at most {CHECKED_BIAS} "
    "standard errors."
)
UNCHECKED_CELLS = f"{UNVERIFIED}: {_range(CHECKED_CELLS)}."
UNCHECKED_DIFFERENCES = f"{UNVERIFIED}: {_range(CHECKED_DIFFERENCES)}."
ONE_ROW = "a compared set has only one row or cluster"
NO_VARIATION = (
    "the compared rows do not vary (as with an AUC of 0 or 1) and provide no estimate of the sampling error"
)
NO_INTERVAL = f"There is no interval (-) if {ONE_ROW}."
COMPARISON_TEXTS = (
    "Both models are measured on the same rows, so rows that are hard for both do not blur the difference.",
    "Each difference is the candidate's value minus the baseline's value. It is positive if the candidate's "
    "value is higher.",
    "Tied means that the interval contains 0: these rows do not show which model is better.",
)


def score_section(report: UncertaintyReport) -> Section:
    """Return the score and its terms with their intervals."""
    lines = [
        (WORDS[name], number(each.value, 5), scaled(each.standard_error), interval(each, 5))
        for name, each in report.terms.items()
    ]
    caption = f"{report.report.rows:,} rows, {report.report.positives:,} of them positive"
    head = ("term", "value", "standard error", f"{report.level:.0%} interval")
    return Section(
        "score",
        "Score and confidence intervals",
        (UNCHECKED_MEANS, *without_value(report), *_without_interval(report)),
        (table(caption, head, lines),),
        report.report.as_dict() | {"intervals": report.as_dict()},
    )


def without_value(report: UncertaintyReport) -> Iterator[str]:
    """Yield sentences on undefined AUCs, the reasons, and the effect on the score."""
    missing = [each for each in report.report.undefined if each.affects_score]
    if missing:
        so = "The power means omit them" if report.report.score is not None else "There is no score"
        yield f"Undefined AUCs: {len(missing):,}. {so}:"
        yield from why_empty(
            (each.subgroup or WORDS[each.term.removeprefix("mean_")], each.reason) for each in missing
        )


def _without_interval(report: UncertaintyReport) -> Iterator[str]:
    """Yield a sentence that explains a missing interval of the score, if any."""
    lone = [
        line.name
        for line in report.report.subgroups
        if line.in_score
        and any(
            each.value is not None and each.standard_error is None
            for each in report.cells[line.name].values()
        )
    ]
    if report.score.value is not None and report.score.low is None:
        because = (
            f" because these identities have only one row or cluster in a class: {listed(lone)}"
            if lone
            else f" because {NO_VARIATION}"
        )
        yield f"The score has no interval{because}."


def identities_section(
    metrics: MetricTable, report: UncertaintyReport | None, *, lowest: int, order: Column = "mean_auc"
) -> Section:
    """Return the five metrics of all identities and of the lowest identities, with intervals."""
    in_order = metrics.sorted_by(order)
    what = "lowest mean AUC first" if order == "mean_auc" else f"by {WORDS.get(order, order)}"
    blocks = [metrics_table(f"All identities, {what}", in_order)]
    if lowest and lowest < len(metrics.lines):
        blocks.insert(0, metrics_table(f"Lowest {lowest} by mean AUC", metrics.lowest(lowest)))
    if report is not None:
        lines: list[list[Cell | str]] = [
            [line.name, *(_interval_cell(report.cells[line.name][cell]) for cell in CELLS)]
            for line in in_order.lines
        ]
        head = ("identity", *(WORDS[cell] for cell in CELLS))
        blocks.append(
            table(f"{report.level:.0%} intervals", head, lines, notes=(UNCHECKED_CELLS, NO_INTERVAL))
        )
    texts = [
        "Each identity is compared with all rows that do not mention it."
        if metrics.background == "all"
        else "Each identity is compared with the rows known not to mention it. Rows in which it is blank are "
        "excluded. The score and the intervals are not shown because they require all rows as background."
    ]
    texts += omitted(metrics.too_small)
    if not metrics.lines:
        texts, blocks = [*texts[1:], "There are no identities to compare."], []
    return Section("identities", "Identities", tuple(texts), tuple(blocks), metrics.as_dict())


def omitted(too_small: Iterable[tuple[str, int]]) -> list[str]:
    """Return a sentence on the identities that are too small, with their numbers of rows."""
    names = ", ".join(f"{name} ({size:,})" for name, size in too_small)
    return [f"Omitted because too few rows mention them: {names}."] if names else []


def slices_section(
    rows: Mapping[str, Rows],
    others: Mapping[str, Rows],
    hidden: Sequence[str],
    *,
    minimum_size: int,
    names: tuple[str, str],
) -> Section:
    """Return a table for each slice of the data, like Table 6 in Borkan et al.

    If there is a second model, each table shows both models side by side.
    """
    tables = {name: metric_table(part, minimum_size=minimum_size) for name, part in rows.items()}
    blocks = []
    for name, metrics in tables.items():
        caption = f"{name}: {metrics.rows:,} rows, overall AUC {number(metrics.overall_auc)}"
        if name in others:
            theirs = metric_table(others[name], minimum_size=minimum_size)
            caption += f" / {number(theirs.overall_auc)}"
            block = side_by_side(caption, metrics, theirs, names)
        else:
            block = metrics_table(caption, metrics)
        blocks.append(replace(block, notes=(*block.notes, *omitted(metrics.too_small))))
    data = {name: metrics.as_dict() for name, metrics in tables.items()}
    texts = (f"Values of which only the number of rows is shown: {', '.join(hidden)}.",) if hidden else ()
    return Section("slices", "Slices of the data", texts, tuple(blocks), data)


def metrics_table(caption: str, metrics: MetricTable) -> Table:
    """Return a table of the five metrics, colored like Tables 3 and 6 of the paper."""
    has_categories = any(line.category for line in metrics.lines)
    lines: list[list[Cell | str]] = [
        [
            line.name,
            *([line.category or ""] if has_categories else []),
            f"{line.size:,}",
            share(line.share_positive),
            *_metric_cells(metrics, line),
        ]
        for line in metrics.lines
    ]
    about = (*(["category"] if has_categories else []), "count", "positive")
    head = ("identity", *about, *(WORDS[cell] for cell in CELLS))
    return table(caption, head, lines, notes=_why_empty(metrics))


def side_by_side(caption: str, first: MetricTable, second: MetricTable, names: tuple[str, str]) -> Table:
    """Return a table of two models' metrics side by side, like Tables 3 and 6."""
    theirs = {line.name: line for line in second.lines}
    lines: list[list[Cell | str]] = [
        [line.name, f"{line.size:,}", *_metric_cells(first, line), *_metric_cells(second, theirs[line.name])]
        for line in first.lines
    ]
    head = ("identity", "count", *(2 * [SHORT[cell] for cell in CELLS]))
    groups = [("", 1), *((name, len(CELLS)) for name in names)]
    return table(caption, head, lines, groups=groups, notes=_why_empty(first))


def _metric_cells(metrics: MetricTable, line: TableLine) -> list[Cell]:
    reasons = {(each.subgroup, each.term): each.reason for each in metrics.undefined}
    return [metric(cell, getattr(line, cell), title=reasons.get((line.name, cell), "")) for cell in CELLS]


def _why_empty(metrics: MetricTable) -> list[str]:
    shown = {line.name for line in metrics.lines}
    return why_empty((each.subgroup, each.reason) for each in metrics.undefined if each.subgroup in shown)


def held_back_section(metrics: MetricTable, settings: MetricSettings) -> Section:
    """Return the largest possible score gains, and the effect of the exponent."""
    held = held_back(metrics.lines, settings)
    effects = power_effect(metrics.overall_auc, metrics.lines, settings)
    cells = table(
        "Score gain if one AUC rose to the median of its column",
        ("identity", "AUC", "value", "median", "gain"),
        (
            (each.name, WORDS[each.cell], number(each.value), number(each.median), signed(each.gain, 5))
            for each in held.cells[:MOST_GAINS]
        ),
    )
    rising = table(
        "Score gain if all below-median AUCs of an identity rose to their medians",
        ("identity", "gain"),
        ((name, signed(gain, 5)) for name, gain in held.identities[:MOST_GAINS]),
    )
    names = ("score", *BIAS_AUCS)
    numbers = table(
        "Effect of the exponent",
        ("p", *(WORDS[name] for name in names)),
        ((f"{each.power:g}", *(number(getattr(each, name), 4) for name in names)) for each in effects),
    )
    series = [
        Series(WORDS[name], points, place)
        for place, name in enumerate(names)
        if (points := [(each.power, value) for each in effects if (value := getattr(each, name)) is not None])
    ]
    blocks: list[Table | Chart] = [rising, cells] if held.cells else []
    if series:
        y = Axis.around("value", (value for one in series for _, value in one.points))
        svg = line_chart("Score by exponent p", series, Axis("exponent p", -10, 1), y)
        blocks.append(Chart(svg, numbers))
    data = {"held_back": held.as_dict(), "power": [each.as_dict() for each in effects]}
    texts = () if held.cells else ("No AUC is below the median of its column.",)
    return Section("held_back", "Largest possible gains", texts, tuple(blocks), data)


def pinned_section(rows: Rows, counted: CountedRows, experiment: SkewExperiment | None) -> Section:
    """Return the pinned AUCs with their decomposition and, if given, the skew experiment."""
    pinned = pinned_aucs(rows, counted)
    parts = ("background_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc")
    lines: list[list[Cell | str]] = []
    for each in pinned:
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
    blocks = [table("Expected pinned AUC: the weighted sum of four AUCs", head, lines)]
    data: Any = [each.as_dict() for each in pinned]
    if experiment is not None:
        blocks.insert(0, _skew_table(experiment))
        data = {"expected": data, "skew": experiment.as_dict()}
    return Section("pinned", "Pinned AUC (not robust)", (NOT_ROBUST,), tuple(blocks), data)


def _skew_table(skew: SkewExperiment) -> Table:
    """Return a table of all identities on the original and on the skewed rows."""
    lines = [
        [
            f"{line.name}*" if line.is_skewed else line.name,
            *(number(part[model], 2) for part in (line.original, line.skewed) for model in skew.models),
        ]
        for line in skew.lines
    ]
    notes = [
        f"* {skew.removed:,} of its negative rows were removed at random (mean of {skew.trials} trials). "
        f"{skew.positives_left:,} of the remaining {skew.rows_left:,} rows are positive."
    ]
    for model, aucs in skew.bias_aucs.items():
        values = (
            f"{WORDS[cell]} {number(one, 2)} and {number(other, 2)}" for cell, (one, other) in aucs.items()
        )
        notes.append(f"AUCs of {model} for this identity, before and after: {', '.join(values)}.")
    groups = [("original rows", len(skew.models)), ("skewed rows*", len(skew.models))]
    head = ("identity", *skew.models, *skew.models)
    return table(
        f"Pinned AUC with fewer negative rows of {skew.identity}", head, lines, groups=groups, notes=notes
    )


def _interval_cell(each: Estimate) -> Cell:
    if each.value is None or each.low is not None:
        return Cell(interval(each, 3))
    return Cell(UNDEFINED, title=f"No interval: {ONE_ROW}.")


def interval(each: Estimate, digits: int) -> str:
    """Format an interval; ° marks intervals outside the verified range."""
    if each.low is None or each.high is None:
        return UNDEFINED
    return f"{each.low:.{digits}f} to {each.high:.{digits}f}{'' if each.is_checked else '°'}"


def comparison_section(
    rows: tuple[Rows, Rows],
    sets: Sets,
    measured: Measured | None,
    *,
    minimum_size: int,
    names: tuple[str, str],
) -> Section:
    """Return the comparison of the candidate, which is the model of the report, with the baseline.

    `measured` is the candidate; None if the background does not consist of all other rows.
    """
    candidate, baseline = names
    tables = [metric_table(each, minimum_size=minimum_size) for each in rows]
    differences = compare_tables(tables[0], tables[1])
    data: dict[str, Any] = {
        "candidate": candidate,
        "baseline": baseline,
        "differences": [each.as_dict() for each in differences],
    }
    blocks = [side_by_side(f"{candidate} and {baseline} side by side", tables[0], tables[1], names)]
    cells: Mapping[str, Mapping[MetricCell, Difference]] = {}
    table = None
    if measured is not None:
        other = Measured.of_rows(sets, rows[1])
        paired = paired_report(sets, measured, other)
        cells = paired.cells
        blocks.insert(0, _terms(paired, measured, other, names))
        table = _marked(paired, f"{candidate} minus {baseline}")
        data["paired"] = [paired.as_dict()]
    blocks.append(_differences(f"{candidate} minus {baseline}", differences, cells))
    blocks += [table] if table is not None else []
    return Section(
        "comparison", f"{candidate} compared with {baseline}", COMPARISON_TEXTS, tuple(blocks), data
    )


def _terms(paired: PairedReport, candidate: Measured, baseline: Measured, names: tuple[str, str]) -> Table:
    values = [each.report.terms | {"score": each.report.score} for each in (candidate, baseline)]
    lines = [
        (
            WORDS[name],
            number(values[0][name], 5),
            number(values[1][name], 5),
            signed(each.difference, 5),
            marked_interval(each),
            p_text(each.p_value),
            {True: "tied", False: "not tied", None: UNDEFINED}[each.is_tied],
        )
        for name, each in paired.terms.items()
    ]
    head = ("term", *names, "candidate minus baseline", f"{paired.level:.0%} interval", "p", "")
    return table("Paired differences", head, lines)


def _marked(paired: PairedReport, caption: str) -> Table | None:
    """Return the cells whose interval excludes 0, the most certain first; None if no cell was tested."""
    rates = paired.false_discovery_rates()
    tested = [
        (rate, each.p_value or 0.0, name, cell, each)
        for name, cells in paired.cells.items()
        for cell, each in cells.items()
        if (rate := rates[name][cell]) is not None
    ]
    lines = [
        [name, WORDS[cell], signed(each.difference), marked_interval(each), *map(p_text, (p_value, rate))]
        for rate, p_value, name, cell, each in sorted(tested, key=lambda one: one[:2])
        if each.is_tied is False
    ]
    note = (
        f"If all cells with a false discovery rate (Benjamini and Hochberg) of at most {TOLERATED:.0%} are "
        f"reported, at most {TOLERATED:.0%} of them are expected to have no true difference. Such cells: "
        f"{sum(each[0] <= TOLERATED for each in tested):,} of {len(tested):,}."
    )
    head = ("identity", "metric", "difference", f"{paired.level:.0%} interval", "p", "false discovery rate")
    return table(f"{caption}: cells marked *", head, lines, notes=[note]) if lines else None


def p_text(p_value: float | None) -> str:
    """Format a p-value; a dash stands for None."""
    return number(p_value, 4) if p_value is None or p_value >= 0.0001 else "< 0.0001"


def _differences(
    caption: str, differences: Sequence[LineDifference], paired: Mapping[str, Mapping[MetricCell, Difference]]
) -> Table:
    lines: list[list[Cell | str]] = [
        [each.name, *(_cell(each.differences[cell], paired.get(each.name, {}).get(cell)) for cell in CELLS)]
        for each in differences
    ]
    tested = sum(each.is_tied is not None for cells in paired.values() for each in cells.values())
    notes = [
        f"* The 95% interval does not contain 0. Each of the {tested:,} cells is tested separately; about "
        f"{max(round(tested * 0.05), 1):,} would be marked even without any difference.",
        UNCHECKED_DIFFERENCES,
    ]
    return table(
        caption, ("identity", *(WORDS[cell] for cell in CELLS)), lines, notes=notes if tested else ()
    )


def _cell(difference: float | None, tested: Difference | None) -> Cell:
    if tested is None:
        return Cell(signed(difference))
    marks = (
        f"{'*' if tested.is_tied is False else ''}{'' if tested.low is None or tested.is_checked else '°'}"
    )
    return Cell(f"{signed(difference)}{marks}", title=marked_interval(tested))


def difference_interval(each: Difference, digits: int = 5) -> str:
    """Format the interval of a difference, without a mark."""
    if each.low is None or each.high is None:
        return UNDEFINED
    return f"{each.low:+.{digits}f} to {each.high:+.{digits}f}"


def marked_interval(each: Difference, digits: int = 5) -> str:
    """Format the interval of a difference; ° marks intervals outside the verified range."""
    return difference_interval(each, digits) + ("" if each.low is None or each.is_checked else "°")

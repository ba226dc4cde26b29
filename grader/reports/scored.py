"""Report sections on a model's score and its comparison with a second model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairboard import BiasReport, MetricSettings
from fairboard.bias.analysis.pinned_auc import NOT_ROBUST, pinned_aucs
from fairboard.bias.analysis.power_means import power_effect
from fairboard.bias.analysis.rows import CountedRows, Rows
from fairboard.bias.analysis.skew_scenarios import SkewExperiment
from fairboard.bias.analysis.table import (
    CELLS,
    Column,
    MetricTable,
    TableLine,
    compare_tables,
    metric_table,
)
from fairboard.bias.subgroups import BIAS_AUCS
from grader.charts.frame import Series, line_chart
from grader.charts.svg import Axis
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
    why_empty,
)

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


COMPARISON_TEXT = (
    "Each difference is the candidate's value minus the baseline's value. It is positive if the candidate's "
    "value is higher."
)


def score_section(report: BiasReport) -> Section:
    """Return the score and its terms."""
    lines = [
        (WORDS[name], number(value, 5)) for name, value in (report.terms | {"score": report.score}).items()
    ]
    caption = f"{report.rows:,} rows, {report.positives:,} of them positive"
    table_ = table(caption, ("term", "value"), lines)
    return Section("score", "Score", tuple(_without_value(report)), (table_,), report.as_dict())


def _without_value(report: BiasReport) -> Iterator[str]:
    """Yield sentences on undefined AUCs, the reasons, and the effect on the score."""
    missing = [each for each in report.undefined if each.affects_score]
    if missing:
        so = "The power means omit them" if report.score is not None else "There is no score"
        yield f"Undefined AUCs: {len(missing):,}. {so}:"
        yield from why_empty(
            (each.subgroup or WORDS[each.term.removeprefix("mean_")], each.reason) for each in missing
        )


def identities_section(metrics: MetricTable, *, lowest: int, order: Column = "mean_auc") -> Section:
    """Return the five metrics of all identities and of the lowest identities."""
    in_order = metrics.sorted_by(order)
    what = "lowest mean AUC first" if order == "mean_auc" else f"by {WORDS.get(order, order)}"
    blocks = [metrics_table(f"All identities, {what}", in_order)]
    if lowest and lowest < len(metrics.lines):
        blocks.insert(0, metrics_table(f"Lowest {lowest} by mean AUC", metrics.lowest(lowest)))
    texts = [
        "Each identity is compared with all rows that do not mention it."
        if metrics.background == "all"
        else "Each identity is compared with the rows known not to mention it. Rows in which it is blank are "
        "excluded. The score is not shown because it requires all rows as background."
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


def power_section(metrics: MetricTable, settings: MetricSettings) -> Section:
    """Return the effect of the exponent on the score and the power means."""
    effects = power_effect(metrics.overall_auc, metrics.lines, settings)
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
    blocks: list[Table | Chart] = [numbers]
    if series:
        y = Axis.around("value", (value for one in series for _, value in one.points))
        svg = line_chart("Score by exponent p", series, Axis("exponent p", -10, 1), y)
        blocks = [Chart(svg, numbers)]
    return Section("power", "Effect of the exponent", (), tuple(blocks), [each.as_dict() for each in effects])


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


def comparison_section(rows: tuple[Rows, Rows], *, minimum_size: int, names: tuple[str, str]) -> Section:
    """Return the comparison of the candidate, which is the model of the report, with the baseline."""
    candidate, baseline = names
    tables = [metric_table(each, minimum_size=minimum_size) for each in rows]
    differences = compare_tables(tables[0], tables[1])
    lines = [(each.name, *(signed(each.differences[cell]) for cell in CELLS)) for each in differences]
    blocks = (
        side_by_side(f"{candidate} and {baseline} side by side", tables[0], tables[1], names),
        table(f"{candidate} minus {baseline}", ("identity", *(WORDS[cell] for cell in CELLS)), lines),
    )
    data = {
        "candidate": candidate,
        "baseline": baseline,
        "differences": [each.as_dict() for each in differences],
    }
    title = f"{candidate} compared with {baseline}"
    return Section("comparison", title, (COMPARISON_TEXT,), blocks, data)

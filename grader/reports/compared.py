"""Report sections that compare two models: tables side by side, differences and tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from grader.metrics import PreparedSplit
from grader.metrics.analysis.rows import Rows
from grader.metrics.analysis.table import CELLS, LineDifference, compare_tables, metric_table
from grader.metrics.analysis.uncertainty.influence import Sets
from grader.metrics.analysis.uncertainty.paired import Difference, Measured, PairedReport, paired_report
from grader.metrics.prepared import FloatArray
from grader.metrics.subgroups import Cell
from grader.reports.blocks import UNDEFINED, Section, Table, number, signed, table
from grader.reports.blocks import Cell as BlockCell
from grader.reports.scored import UNCHECKED, WORDS, side_by_side

TEXTS = (
    "Both are measured on the same rows, so that what is hard for both does not blur the difference.",
    "Every difference is the candidate's value minus the baseline's: above 0 the candidate has more.",
    "Tied means that 0 lies in the interval: these rows cannot show which is better.",
)


def comparison_section(
    rows: Rows, others: FloatArray, split: PreparedSplit, *, minimum_size: int, names: tuple[str, str]
) -> Section:
    """Return the names of the two submissions: the candidate, which the report is about, and its baseline."""
    candidate, baseline = names
    tables = [metric_table(each, minimum_size=minimum_size) for each in (rows, rows.predicted(others))]
    differences = compare_tables(tables[0], tables[1])
    data: dict[str, Any] = {
        "candidate": candidate,
        "baseline": baseline,
        "differences": [each.as_dict() for each in differences],
    }
    blocks = [side_by_side(f"{candidate} beside {baseline}", tables[0], tables[1], names)]
    cells: Mapping[str, Mapping[Cell, Difference]] = {}
    if rows.background == "all":
        sets = Sets(split)
        measured = [Measured.of(sets, each, rows.settings) for each in (rows.predictions, others)]
        paired = paired_report(sets, measured[0], measured[1])
        cells = paired.cells
        blocks.insert(0, _terms(paired, measured[0], measured[1], names))
        data["paired"] = [paired.as_dict()]
    blocks.append(_differences(f"{candidate} minus {baseline}", differences, cells))
    return Section("comparison", f"{candidate} against {baseline}", TEXTS, tuple(blocks), data)


def _terms(paired: PairedReport, candidate: Measured, baseline: Measured, names: tuple[str, str]) -> Table:
    values = [each.report.terms | {"score": each.report.score} for each in (candidate, baseline)]
    found: dict[str, Difference] = {"score": paired.score, "overall_auc": paired.overall_auc}
    for term, each in paired.power_means.items():
        found[term] = each
    lines = [
        (
            WORDS[name],
            number(values[0][name], 5),
            number(values[1][name], 5),
            signed(each.difference, 5),
            _interval(each),
            UNDEFINED
            if each.p_value is None
            else "< 0.0001"
            if each.p_value < 0.0001
            else f"{each.p_value:.4f}",
            {True: "tied", False: "not tied", None: UNDEFINED}[each.is_tied],
        )
        for name, each in found.items()
    ]
    head = ("term", *names, "candidate minus baseline", f"{paired.level:.0%} interval", "p", "")
    return table("Paired differences", head, lines)


def _differences(
    caption: str, differences: Sequence[LineDifference], paired: Mapping[str, Mapping[Cell, Difference]]
) -> Table:
    lines: list[list[BlockCell | str]] = [
        [each.name, *(_cell(each.differences[cell], paired.get(each.name, {}).get(cell)) for cell in CELLS)]
        for each in differences
    ]
    tested = sum(each.is_tied is not None for cells in paired.values() for each in cells.values())
    notes = [
        f"* 0 lies outside the 95% interval. Each cell is tested separately: of these {tested:,}, about "
        f"{max(round(tested * 0.05), 1):,} would have one without any difference.",
        UNCHECKED,
    ]
    return table(
        caption, ("identity", *(WORDS[cell] for cell in CELLS)), lines, notes=notes if tested else ()
    )


def _cell(difference: float | None, tested: Difference | None) -> BlockCell:
    if tested is None:
        return BlockCell(signed(difference))
    marks = (
        f"{'*' if tested.is_tied is False else ''}{'' if tested.low is None or tested.is_checked else '°'}"
    )
    return BlockCell(f"{signed(difference)}{marks}", title=_interval(tested))


def _interval(each: Difference) -> str:
    if each.low is None or each.high is None:
        return UNDEFINED
    return f"{each.low:+.5f} to {each.high:+.5f}{'' if each.is_checked else '°'}"

"""Two models on the same rows: tables side by side, and the differences with their tests."""

from grader.metrics import PreparedSplit
from grader.metrics.analysis.influence import Sets
from grader.metrics.analysis.paired import Difference, Measured, PairedReport, paired_report
from grader.metrics.analysis.rows import Rows
from grader.metrics.analysis.table import CELLS, compare_tables, metric_table
from grader.metrics.prepared import FloatArray
from grader.reports.blocks import UNDEFINED, Section, Table, number, signed, table
from grader.reports.scored import WORDS


def comparison_section(
    rows: Rows, others: FloatArray, split: PreparedSplit, *, minimum_size: int, names: tuple[str, str]
) -> Section:
    """Return what tells two submissions apart."""
    first, second = names
    tables = [metric_table(each, minimum_size=minimum_size) for each in (rows, rows.predicted(others))]
    differences = compare_tables(tables[1], tables[0])
    blocks: list[Table] = []
    data = {"differences": [each.as_dict() for each in differences]}
    if rows.background == "all":
        sets = Sets(split)
        measured = [Measured.of(sets, each, rows.settings) for each in (rows.predictions, others)]
        paired = paired_report(sets, measured[0], measured[1])
        blocks.append(_terms(paired, measured[0], measured[1], names))
        blocks.append(_cells(paired, f"{first} minus {second}: * where 0 lies outside the interval"))
        data["paired"] = [paired.as_dict()]
    lines = [
        [
            each.name,
            *(
                f"{number(getattr(each.second, cell, None))} / {number(getattr(each.first, cell, None))}"
                for cell in CELLS
            ),
        ]
        for each in differences
    ]
    head = ("identity", *(WORDS[cell] for cell in CELLS))
    blocks.append(table(f"{first} / {second}", head, lines))
    texts = (
        "Both are measured on the same rows, so that what is hard for both does not blur the difference.",
        "Tied means that 0 lies in the interval: these rows do not tell which is better.",
    )
    return Section("comparison", f"{first} against {second}", texts, tuple(blocks), data)


def _terms(paired: PairedReport, first: Measured, second: Measured, names: tuple[str, str]) -> Table:
    values = [each.report.terms | {"score": each.report.score} for each in (first, second)]
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
            number(each.p_value, 4),
            {True: "tied", False: "not tied", None: UNDEFINED}[each.is_tied],
        )
        for name, each in found.items()
    ]
    head = ("term", *names, "difference", f"{paired.level:.0%} interval", "p", "")
    return table("Paired differences", head, lines)


def _cells(paired: PairedReport, caption: str) -> Table:
    lines = [
        [
            name,
            *(
                f"{signed(cells[cell].difference)}{'*' if cells[cell].is_tied is False else ''}"
                for cell in CELLS
            ),
        ]
        for name, cells in paired.cells.items()
    ]
    return table(caption, ("identity", *(WORDS[cell] for cell in CELLS)), lines)


def _interval(each: Difference) -> str:
    if each.low is None or each.high is None:
        return UNDEFINED
    return f"{each.low:+.5f} to {each.high:+.5f}"

"""Bias reports as tables: text and Markdown."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fairboard.bias.subgroups import CELLS, SubgroupReport
from grader.text import aligned, markdown_table

if TYPE_CHECKING:
    from fairboard.bias.reports import BiasReport

Reports = Mapping[str, Mapping[str, "BiasReport"]]  # maps models and splits to reports
HEADINGS = {
    "in_score": "in score",
    "overall_auc": "overall AUC",
    "subgroup_auc": "Subgroup AUC",
    "bpsn_auc": "BPSN AUC",
    "bnsp_auc": "BNSP AUC",
    "positive_aeg": "positive AEG",
    "negative_aeg": "negative AEG",
}
_TEXTS = ("model", "split", "identity", "in_score")
_COLUMNS = (*_TEXTS, "rows", "positives", "score", "overall_auc", *CELLS)


def table_of(reports: Reports) -> tuple[list[str], list[list[object]]]:
    """Return the columns and rows of a table.

    A row without an identity contains the score and the power means of a split. The columns of unnamed models
    and splits are left out.
    """
    unnamed = {"model"} if set(reports) == {""} else set()
    if all(set(splits) == {""} for splits in reports.values()):
        unnamed.add("split")
    columns = [name for name in _COLUMNS if name not in unnamed]
    rows: list[list[object]] = []
    for model, splits in reports.items():
        for split, report in splits.items():
            place = {"model": model, "split": split}
            whole = {
                "score": report.score,
                **report.terms,
                **place,
                "rows": report.rows,
                "positives": report.positives,
            }
            rows.append([whole.get(name) for name in columns])
            rows += [[place.get(name, _value(line, name)) for name in columns] for line in report.subgroups]
    return columns, rows


def as_text(reports: Reports) -> str:
    """Return a text block for each split with the score, its terms and one line per identity."""
    return "\n".join(
        _block(f"{model}, {split}" if len(reports) > 1 else split, report)
        for model, splits in reports.items()
        for split, report in splits.items()
    )


def as_markdown(reports: Reports) -> str:
    """Return a Markdown table with rounded values."""
    columns, lines = _rounded_table(reports)
    return markdown_table(lines, ["---" if name in _TEXTS else "---:" for name in columns])


def _block(title: str, report: "BiasReport") -> str:
    columns = ("rows", "positives", *CELLS)
    lines = [["identity", *(HEADINGS.get(name, name) for name in columns)]]
    lines.append(["power mean", *(_rounded(name, report.terms.get(name)) for name in columns)])
    for subgroup in report.subgroups:
        name = _rounded("identity", subgroup.name if subgroup.in_score else f"({subgroup.name})")
        lines.append([name, *(_rounded(column, _value(subgroup, column)) for column in columns)])
    table = "".join(line + "\n" for line in aligned(lines))
    outside = any(not subgroup.in_score for subgroup in report.subgroups)
    return (
        f"{title and title + ': '}{report.rows:,} {'row' if report.rows == 1 else 'rows'}, "
        f"{report.positives:,} positive\n"
        f"score {_rounded('score', report.score) or 'undefined'}, "
        f"overall AUC {_rounded('overall_auc', report.overall_auc) or 'undefined'}\n"
        f"\n{table}" + ("(in parentheses: not in the score)\n" if outside else "")
    )


def _rounded_table(reports: Reports) -> tuple[list[str], list[list[str]]]:
    """Return the columns, and the lines of the table starting with the headings."""
    columns, rows = table_of(reports)
    lines = [[_rounded(*cell) for cell in zip(columns, row, strict=True)] for row in rows]
    return columns, [[HEADINGS.get(name, name) for name in columns], *lines]


def _value(subgroup: SubgroupReport, column: str) -> object:
    return getattr(subgroup, {"identity": "name", "rows": "size"}.get(column, column), None)


def _rounded(column: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{5 if column == 'score' else 4}f}"
    return f"{value:,}" if isinstance(value, int) else " ".join(str(value).splitlines())

"""Bias reports for each model and split as text, CSV, Markdown and LaTeX."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader import metrics
from grader.cli.output import TERMS, aligned
from grader.files import ScoredTable, Solution
from grader.metrics import (
    BIAS_AUCS,
    BiasReport,
    MetricSettings,
    PreparedSplit,
    SubgroupReport,
    count_pairs,
    prepare,
)

Reports = Mapping[str, Mapping[str, BiasReport]]  # maps models and splits to reports
Row = list[object]

COLUMNS = (
    "model",
    "split",
    "identity",
    "in_score",
    "rows",
    "positives",
    "score",
    "overall_auc",
    "subgroup_auc",
    "bpsn_auc",
    "bnsp_auc",
    "positive_aeg",
    "negative_aeg",
)
HEADINGS = TERMS | {"in_score": "in score", "positive_aeg": "positive AEG", "negative_aeg": "negative AEG"}
GAPS = ("positive_aeg", "negative_aeg")
DECIMALS = 4
SCORE_DECIMALS = 5

Rows = slice | NDArray[np.bool_]


@dataclass(frozen=True)
class Evaluation:
    """A solution prepared for scoring; `splits` contains public, private and all, unless they are empty."""

    settings: MetricSettings
    splits: Mapping[str, tuple[Rows, PreparedSplit]]

    @classmethod
    def of(
        cls, solution: Solution | ScoredTable, settings: MetricSettings, *, min_size: int = 0
    ) -> "Evaluation":
        """Prepare the splits; the score excludes identities with fewer than `min_size` scored rows."""
        splits = _rows_of_splits(solution.usage)
        scored = splits.get("all", slice(0))
        in_score = [
            name
            for name, values in solution.identities.items()
            if np.count_nonzero(values[scored] >= settings.identity_threshold) >= min_size
        ]
        return cls(
            settings,
            {
                split: (
                    rows,
                    prepare(
                        solution.labels[rows],
                        {name: values[rows] for name, values in solution.identities.items()},
                        settings=settings,
                        in_score=in_score,
                    ),
                )
                for split, rows in splits.items()
            },
        )

    def reports(self, predictions: NDArray[np.float64]) -> dict[str, BiasReport]:
        """Return the report of each split for predictions in the solution's order."""
        return {
            split: metrics.report(count_pairs(prepared, predictions[rows]), self.settings)
            for split, (rows, prepared) in self.splits.items()
        }


def _rows_of_splits(usage: NDArray[np.int8] | None) -> dict[str, Rows]:
    if usage is None:
        return {"all": slice(None)}
    splits = {"public": usage == 1, "private": usage == 2, "all": usage > 0}
    return {name: slice(None) if rows.all() else rows for name, rows in splits.items() if rows.any()}


def as_csv(reports: Reports) -> str:
    """Return all values as CSV; the row without an identity contains a split's score and power means."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_shown_columns(reports))
    writer.writerows(_rows(reports))
    return text.getvalue()


def as_markdown(reports: Reports) -> str:
    """Return a Markdown table with rounded values."""
    columns = _shown_columns(reports)
    lines = [
        [HEADINGS.get(name, name) for name in columns],
        ["---" if _is_text(n) else "---:" for n in columns],
    ]
    lines += [
        [_rounded(n, v).replace("|", r"\|") for n, v in zip(columns, row, strict=True)]
        for row in _rows(reports)
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def as_latex(reports: Reports) -> str:
    """Return a LaTeX table (booktabs) with rounded values."""
    columns = _shown_columns(reports)
    heading = " & ".join(_latex(HEADINGS.get(name, name)) for name in columns)
    body = "".join(
        " & ".join(_latex(_rounded(n, v)) or "--" for n, v in zip(columns, row, strict=True)) + " \\\\\n"
        for row in _rows(reports)
    )
    alignment = "".join("l" if _is_text(name) else "r" for name in columns)
    return (
        f"\\begin{{tabular}}{{{alignment}}}\n\\toprule\n{heading} \\\\\n\\midrule\n{body}"
        "\\bottomrule\n\\end{tabular}\n"
    )


def as_text(reports: Reports) -> str:
    """Return a text block for each split with the score, its terms and one line per identity."""
    several = len(reports) > 1
    return "\n".join(
        _block(f"{model}, {split}" if several else split, report)
        for model, splits in reports.items()
        for split, report in splits.items()
    )


FORMATS: Mapping[str, Callable[[Reports], str]] = {
    "table": as_text,
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
}


def _block(title: str, report: BiasReport) -> str:
    columns = ("rows", "positives", *BIAS_AUCS, *GAPS)
    means: dict[str, float | None] = {name: getattr(report.power_means, name) for name in BIAS_AUCS}
    lines = [["identity", *(HEADINGS.get(name, name) for name in columns)]]
    lines.append(["power mean", *(_rounded(name, means.get(name)) for name in columns)])
    for subgroup in report.subgroups:
        name = subgroup.name if subgroup.in_score else f"({subgroup.name})"
        lines.append([name, *(_rounded(column, _value(subgroup, column)) for column in columns)])
    table = "".join(line + "\n" for line in aligned(lines))
    outside = any(not subgroup.in_score for subgroup in report.subgroups)
    return (
        f"{title}: {report.rows:,} {'row' if report.rows == 1 else 'rows'}, {report.positives:,} positive\n"
        f"score {_rounded('score', report.score) or 'undefined'}, "
        f"overall AUC {_rounded('overall_auc', report.overall_auc) or 'undefined'}\n"
        f"\n{table}" + ("(in parentheses: not in the score)\n" if outside else "")
    )


def _rows(reports: Reports) -> Iterator[Row]:
    columns = _shown_columns(reports)
    for model, splits in reports.items():
        for split, report in splits.items():
            whole = report.terms | {"rows": report.rows, "positives": report.positives, "score": report.score}
            place = {"model": model, "split": split}
            yield [(whole | place).get(name) for name in columns]
            for subgroup in report.subgroups:
                yield [place.get(name, _value(subgroup, name)) for name in columns]


def _value(subgroup: SubgroupReport, column: str) -> object:
    renamed = {"identity": "name", "rows": "size"}.get(column, column)
    return getattr(subgroup, renamed, None)


def _shown_columns(reports: Reports) -> Sequence[str]:
    return COLUMNS if set(reports) != {""} else COLUMNS[1:]


def _is_text(column: str) -> bool:
    return column in {"model", "split", "identity", "in_score"}


def _rounded(column: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{SCORE_DECIMALS if column == 'score' else DECIMALS}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _latex(text: str) -> str:
    for char, escape in (("\\", r"\textbackslash "), *((c, "\\" + c) for c in "&%$#_{}")):
        text = text.replace(char, escape)
    return text.replace("~", r"\textasciitilde{}").replace("^", r"\textasciicircum{}")

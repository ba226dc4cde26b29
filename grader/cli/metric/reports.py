"""Bias reports for each model and split as text, CSV and Markdown."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from fairboard import BiasReport, MetricSettings, PreparedSplit, count_pairs, prepare, report
from fairboard.bias.reports import HEADINGS
from fairboard.bias.subgroups import CELLS
from grader.files import Solution
from grader.files.solution.columns import SPLITS
from grader.text import csv_lines, markdown_table

Rows = slice | NDArray[np.bool_]
Reports = Mapping[str, Mapping[str, BiasReport]]  # maps models and splits to reports
_TEXTS = ("model", "split", "identity", "in_score")
_COLUMNS = (*_TEXTS, "rows", "positives", "score", "overall_auc", *CELLS)


@dataclass(frozen=True)
class Evaluation:
    """A solution prepared for scoring; `splits` contains public, private and all, unless they are empty."""

    settings: MetricSettings
    splits: Mapping[str, tuple[Rows, PreparedSplit]]

    @classmethod
    def of(cls, solution: Solution, settings: MetricSettings, *, min_size: int = 0) -> "Evaluation":
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
            split: report(count_pairs(prepared, predictions[rows]), self.settings)
            for split, (rows, prepared) in self.splits.items()
        }


def _rows_of_splits(usage: NDArray[np.int8] | None) -> dict[str, Rows]:
    if usage is None:
        return {"all": slice(None)}
    splits = {name: np.isin(usage, codes) for name, codes in SPLITS.items()}
    return {name: slice(None) if rows.all() else rows for name, rows in splits.items() if rows.any()}


def _table(reports: Reports) -> tuple[list[str], list[list[object]]]:
    """Return the columns, and lines with the values of each split, then of each of its identities.

    The names of unnamed models are left out.
    """
    columns = [name for name in _COLUMNS if name != "model" or set(reports) != {""}]
    lines = list[list[object]]()
    for model, splits in reports.items():
        for split, each in splits.items():
            place = {"model": model, "split": split}
            values = [
                {**place, "rows": each.rows, "positives": each.positives, "score": each.score, **each.terms}
            ]
            for line in each.subgroups:
                values.append({**place, **asdict(line), "identity": line.name, "rows": line.size})
            lines += [[value.get(name) for name in columns] for value in values]
    return columns, lines


def as_text(reports: Reports) -> str:
    """Return a block for each split with the score, its terms and one line per identity."""
    return "\n".join(
        each.to_text(f"{model}, {split}" if len(reports) > 1 else split)
        for model, splits in reports.items()
        for split, each in splits.items()
    )


def as_csv(reports: Reports) -> str:
    """Return all values as CSV; the row without an identity contains a split's score and power means."""
    columns, lines = _table(reports)
    return csv_lines([columns, *lines], line_end="\n")


def as_markdown(reports: Reports) -> str:
    """Return a Markdown table with rounded values."""
    columns, lines = _table(reports)
    headings: dict[str, str] = {"in_score": "in score", "overall_auc": "overall AUC"}
    headings |= {str(cell): heading for cell, heading in HEADINGS.items()}
    rounded = [[_rounded(*cell) for cell in zip(columns, line, strict=True)] for line in lines]
    ruler = ["---" if name in _TEXTS else "---:" for name in columns]
    return markdown_table([[headings.get(name, name) for name in columns], *rounded], ruler)


def _rounded(column: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{5 if column == 'score' else 4}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


FORMATS: Mapping[str, Callable[[Reports], str]] = {
    "table": as_text,
    "csv": as_csv,
    "markdown": as_markdown,
}

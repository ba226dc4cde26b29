"""Bias reports for each model and split as text, CSV and Markdown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairboard import BiasReport, MetricSettings, PreparedSplit, count_pairs, prepare, report
from fairboard.bias.report_tables import Reports, as_markdown, as_text, table_of
from grader.files import ScoredTable, Solution
from grader.files.solution.columns import SPLITS
from grader.text import csv_lines

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
            split: report(count_pairs(prepared, predictions[rows]), self.settings)
            for split, (rows, prepared) in self.splits.items()
        }


def _rows_of_splits(usage: NDArray[np.int8] | None) -> dict[str, Rows]:
    if usage is None:
        return {"all": slice(None)}
    splits = {name: np.isin(usage, codes) for name, codes in SPLITS.items()}
    return {name: slice(None) if rows.all() else rows for name, rows in splits.items() if rows.any()}


def as_csv(reports: Reports) -> str:
    """Return all values as CSV; the row without an identity contains a split's score and power means."""
    columns, rows = table_of(reports)
    return csv_lines([columns, *rows], line_end="\n")


FORMATS: Mapping[str, Callable[[Reports], str]] = {
    "table": as_text,
    "csv": as_csv,
    "markdown": as_markdown,
}

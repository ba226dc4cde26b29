"""Score files without a competition: one bias report for each split."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.files import ScoredTable, Solution
from grader.metrics import BiasReport, MetricSettings, PreparedSplit, count_pairs, prepare, report

Rows = slice | NDArray[np.bool_]


@dataclass(frozen=True)
class Evaluation:
    """A solution, prepared for any number of predictions.

    Attributes
    ----------
    settings : MetricSettings
        Power, weights, thresholds and the policy on undefined cells.
    splits : mapping of str to (rows, PreparedSplit)
        ``public``, ``private`` and ``all`` of both, those that have rows; ``all`` alone without Usage.
    """

    settings: MetricSettings
    splits: Mapping[str, tuple[Rows, PreparedSplit]]

    @classmethod
    def of(
        cls, solution: Solution | ScoredTable, settings: MetricSettings, *, min_size: int = 0
    ) -> "Evaluation":
        """Prepare the splits; identities that fewer than `min_size` scored rows mention are only reported."""
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
    splits = {"public": usage == 1, "private": usage == 2, "all": usage > 0}
    return {name: slice(None) if rows.all() else rows for name, rows in splits.items() if rows.any()}

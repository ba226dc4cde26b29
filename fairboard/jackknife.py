"""Influences on the values of any metric: those of groups of rows, by the grouped jackknife."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairboard.interface import Columns, Metric, RowArray, UnsuitableTruth
from fairboard.measured import FloatArray, Measured, MeasuredMetric

GROUPS = 32
_SEED = 20190327


@dataclass(frozen=True, eq=False, slots=True)
class Jackknife:
    """A split, and the split without each of some random groups of rows; the same for all files.

    `parts` is empty if the metric is undefined without one of the groups.
    """

    metric: Metric
    split: Any
    parts: tuple[Any, ...]

    @classmethod
    def of(cls, metric: Metric, truth: Columns, rows: RowArray) -> "Jackknife":
        """Prepare a split; raise UnsuitableTruth if the metric is undefined on all its rows."""
        split, count = metric.prepare(truth, rows), min(GROUPS, rows.size)
        group = np.random.default_rng(_SEED).permutation(rows.size) % count
        try:
            parts = tuple(metric.prepare(truth, rows[group != each]) for each in range(count))
        except UnsuitableTruth:
            parts = ()
        return cls(metric, split, parts)

    def measure(self, encoded: Any) -> Measured:
        """Return the values of a file with the influences of the groups, from its encoded predictions."""
        result = self.metric.score(self.split, encoded)
        if len(self.parts) < 2:
            return Measured(result.score)
        values = [
            {"score": each.score, **each.terms}
            for each in (self.metric.score(part, encoded) for part in self.parts)
        ]
        names = [name for name in ("score", *result.terms) if all(name in each for each in values)]
        influences = {name: _influences(np.array([each[name] for each in values])) for name in names}
        return Measured(result.score, influences, len(values) - 1)


def _influences(without: FloatArray) -> FloatArray:
    """Return the influences of groups from the values without each of them."""
    count = without.size
    influences: FloatArray = np.sqrt((count - 1) / count) * (without.mean() - without)
    return influences


def measuring(metric: Metric, truth: Columns, rows: RowArray) -> Callable[[Any], Measured]:
    """Return a function that measures encoded predictions on a split, for which it prepares the split once.

    Some metrics have influences of rows, and all others those of groups of rows.

    Raises
    ------
    UnsuitableTruth
        If the metric is undefined on the split.
    """
    if isinstance(metric, MeasuredMetric):
        split = metric.prepare(truth, rows)
        return lambda encoded: metric.measured(split, encoded)
    return Jackknife.of(metric, truth, rows).measure

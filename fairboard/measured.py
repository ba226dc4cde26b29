"""Standard errors of scores and score differences, from the influences of rows or row groups.

An influence is the contribution of a row, or of a group of rows, to the deviation of a value from its
expected value. The standard error is the root of the sum of their squares. Two files on the same rows are
compared by the differences between their influences, because their errors are correlated. Some metrics know
the influences of rows; all others have those of random groups of rows, by the grouped jackknife.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from fairboard.interface import Columns, FloatArray, Metric, RowArray, UnsuitableTruth

CONFIDENCE = 0.95
NORMAL = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
GROUPS, STUDENT = 32, 2.0395  # the quantile of Student's t distribution with one degree of freedom less
_SEED = 20190327


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """The values of a file on one split with their influences.

    Attributes
    ----------
    score : float
        The score.
    influences : mapping of str to ndarray of float64
        The influences on the score (`score`) and on terms by name. A value without a known error is missing.
    quantile : float
        The number of standard errors in half a 95 % interval.
    """

    score: float
    influences: Mapping[str, FloatArray] = field(default_factory=dict)
    quantile: float = NORMAL

    @property
    def errors(self) -> dict[str, float]:
        """The standard errors of the score and of the terms by name.

        If a value does not depend on any row, for example because all rows are correct, its error is unknown.
        """
        return {name: float(np.linalg.norm(each)) for name, each in self.influences.items() if each.any()}


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The difference between the scores of two files on the same rows, and its standard error."""

    value: float
    standard_error: float
    quantile: float = NORMAL

    @property
    def margin(self) -> float:
        """Half the width of the 95 % confidence interval of the difference."""
        return self.quantile * self.standard_error


def paired_difference(one: Measured, other: Measured) -> PairedDifference | None:
    """Return the difference of two scores on the same rows, or None if an error is unknown."""
    if "score" not in one.influences or "score" not in other.influences:
        return None
    change = one.influences["score"] - other.influences["score"]
    return PairedDifference(one.score - other.score, float(np.linalg.norm(change)), one.quantile)


def measuring(metric: Metric, truth: Columns, rows: RowArray) -> Callable[[Any], Measured]:
    """Return a function that measures encoded predictions on a split, for which it prepares the split once.

    Without influences of rows, the split is also prepared without each of some random groups of rows, which
    are the same for all files. If the metric is undefined without one of them, no error is known.

    Raises
    ------
    UnsuitableTruth
        If the metric is undefined on the split.
    """
    split, count = metric.prepare(truth, rows), min(GROUPS, rows.size)
    if of_rows := getattr(metric, "measured", None):
        return lambda encoded: of_rows(split, encoded)
    group = np.random.default_rng(_SEED).permutation(rows.size) % count
    try:
        parts = [metric.prepare(truth, rows[group != each]) for each in range(count)]
    except UnsuitableTruth:
        parts = []

    def measured(encoded: Any) -> Measured:
        result = metric.score(split, encoded)
        if len(parts) < 2:
            return Measured(result.score)
        others = (metric.score(part, encoded) for part in parts)
        values = [{"score": each.score, **each.terms} for each in others]
        names = [name for name in ("score", *result.terms) if all(name in each for each in values)]
        scale = np.sqrt((count - 1) / count)
        without = {name: np.array([each[name] for each in values]) for name in names}
        influences = {name: scale * (each.mean() - each) for name, each in without.items()}
        return Measured(result.score, influences, STUDENT)

    return measured

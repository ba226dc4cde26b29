"""Stratified bootstrap, to check the confidence intervals."""

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.analysis.uncertainty.intervals import LEVEL
from grader.metrics.counting import count_pairs
from grader.metrics.prepared import FloatArray, PreparedSplit, as_vector
from grader.metrics.reports import BiasReport, report
from grader.metrics.settings import MetricSettings


def bootstrap(
    split: PreparedSplit,
    y_score: ArrayLike,
    settings: MetricSettings | None = None,
    *,
    repeats: int = 1000,
    seed: int = 0,
) -> list[BiasReport]:
    """Measure a submission on rows drawn again, with replacement, within each class.

    Parameters
    ----------
    split : PreparedSplit
        The rows there are.
    y_score : array_like, shape (rows,)
        One finite number per row.
    settings : MetricSettings, optional
        By default those of the Kaggle competition.
    repeats : int
        How many draws.
    seed : int
        The same seed gives the same draws.

    Returns
    -------
    list of BiasReport
        One for each draw. A draw may leave an identity without rows of a class, and then has
        undefined values.
    """
    predictions = as_vector("y_score", y_score, rows=split.rows)
    settings = settings or MetricSettings()
    dice = np.random.default_rng(seed)
    classes = np.flatnonzero(split.labels), np.flatnonzero(~split.labels)
    mentions = np.zeros((len(split.names), split.rows), np.bool_)
    for line, members in zip(mentions, split.members, strict=True):
        line[members] = True
    found = []
    for _ in range(repeats):
        drawn = np.concatenate([dice.choice(rows, rows.size) for rows in classes])
        again = PreparedSplit(
            labels=split.labels[drawn],
            names=split.names,
            in_score=split.in_score,
            members=tuple(np.flatnonzero(line[drawn]) for line in mentions),
        )
        found.append(report(count_pairs(again, predictions[drawn]), settings))
    return found


def percentile_interval(values: FloatArray, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval between the two quantiles of bootstrapped values that leave `level` between."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)

"""Intervals, comparisons and confusion counts of models, from the same arguments as `bias_report`."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.bias.analysis.influence import Measured, Sets
from grader.metrics.bias.analysis.intervals import LEVEL, UncertaintyReport, uncertainty_report
from grader.metrics.bias.analysis.paired_differences import PairedReport, paired_report
from grader.metrics.bias.inputs import Inputs
from grader.metrics.bias.metric_settings import MetricSettings
from grader.metrics.bias.prepared import BoolArray


def bias_intervals(
    y_true: ArrayLike | str,
    y_score: ArrayLike | str,
    subgroups: Any,
    *,
    data: Any = None,
    positive: object = None,
    settings: MetricSettings | None = None,
    in_score: Collection[str] | None = None,
    cluster: ArrayLike | str | None = None,
    level: float = LEVEL,
) -> UncertaintyReport:
    """Measure a model like `bias_report`, with a confidence interval for every value.

    Parameters
    ----------
    y_true, y_score, subgroups, data, positive, settings, in_score
        As in `bias_report`, with the same errors.
    cluster : array_like, shape (n,), or str, optional
        Numbers or texts, such as authors or templates. Rows with equal values may depend on each other. A row
        without a value is a cluster of its own.
    level : float
        The confidence level, in (0, 1).

    Returns
    -------
    UncertaintyReport
        Estimates of the score, its terms and the metrics of each identity, and the bias report.

    Examples
    --------
    >>> y_true, cat = [1, 1, 1, 0, 0, 0], {"cat": [1, 1, 0, 1, 1, 0]}
    >>> found = bias_intervals(y_true, [0.9, 0.4, 0.7, 0.5, 0.2, 0.1], cat)
    >>> found.overall_auc.value, round(found.overall_auc.standard_error, 3)
    (0.8888888888888888, 0.157)
    """
    inputs = Inputs.of(y_true, y_score, subgroups, data, positive, settings, in_score, cluster=cluster)
    return uncertainty_report(_sets(inputs), inputs.y_score, inputs.settings, level=level)


def compare_models(
    y_true: ArrayLike | str,
    y_score: ArrayLike | str,
    baseline: ArrayLike | str,
    subgroups: Any,
    *,
    data: Any = None,
    positive: object = None,
    settings: MetricSettings | None = None,
    in_score: Collection[str] | None = None,
    cluster: ArrayLike | str | None = None,
    level: float = LEVEL,
) -> PairedReport:
    """Compare a model with a baseline on the same rows, with intervals and paired tests.

    Parameters
    ----------
    y_true, y_score, subgroups, data, positive, settings, in_score, cluster, level
        As in `bias_intervals`, with the same errors.
    baseline : array_like, shape (n,), or str
        The predictions of the baseline.

    Returns
    -------
    PairedReport
        The values of the model minus those of the baseline.

    Examples
    --------
    >>> y_true, cat = [1, 1, 1, 0, 0, 0], {"cat": [1, 1, 0, 1, 1, 0]}
    >>> found = compare_models(y_true, [6, 4, 5, 3, 2, 1], [6, 2, 5, 4, 3, 1], cat)
    >>> found.cells["cat"]["subgroup_auc"].difference, found.overall_auc.is_tied
    (0.5, True)
    """
    arguments = (y_true, y_score, subgroups, data, positive, settings, in_score)
    inputs = Inputs.of(*arguments, numbers={"baseline": baseline}, cluster=cluster)
    sets = _sets(inputs)
    candidate, other = (
        Measured.of(sets, scores, inputs.settings) for scores in (inputs.y_score, inputs.numbers["baseline"])
    )
    return paired_report(sets, candidate, other, level=level)


def _sets(inputs: Inputs) -> Sets:
    return Sets(inputs.split) if inputs.cluster is None else Sets.clustered(inputs.split, inputs.cluster)


@dataclass(frozen=True, slots=True)
class Confusion:
    """Confusion counts of a set of rows; rates of no rows are None.

    Examples
    --------
    >>> Confusion(3, 1, 4, 1).true_positive_rate, Confusion(3, 1, 4, 1).precision
    (0.75, 0.75)
    """

    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int

    @property
    def true_positive_rate(self) -> float | None:
        """Share of the positive rows that are predicted positive."""
        return _share(self.true_positives, self.false_negatives)

    @property
    def false_positive_rate(self) -> float | None:
        """Share of the negative rows that are predicted positive."""
        return _share(self.false_positives, self.true_negatives)

    @property
    def precision(self) -> float | None:
        """Share of the rows predicted positive that are positive."""
        return _share(self.true_positives, self.false_positives)


@dataclass(frozen=True, slots=True)
class ConfusionReport:
    """Confusion counts of all rows, and of the subgroup and the background of each identity.

    Examples
    --------
    >>> confusion_report([1, 0, 1, 0], [0.9, 0.6, 0.4, 0.2], {"cat": [1, 1, 0, 0]}).overall.false_negatives
    1
    """

    overall: Confusion
    subgroups: Mapping[str, Confusion]
    backgrounds: Mapping[str, Confusion]


def confusion_report(
    y_true: ArrayLike | str,
    y_score: ArrayLike | str,
    subgroups: Any,
    *,
    threshold: float = 0.5,
    data: Any = None,
    positive: object = None,
    settings: MetricSettings | None = None,
) -> ConfusionReport:
    """Count the true and false predictions of each identity and its background at a threshold.

    Parameters
    ----------
    y_true, y_score, subgroups, data, positive, settings
        As in `bias_report`, with the same errors.
    threshold : float
        A finite number. A row is predicted positive if ``y_score >= threshold``.

    Returns
    -------
    ConfusionReport
        Counts and rates. As in the score, the background is all rows that do not mention the identity.

    Examples
    --------
    >>> found = confusion_report([1, 0, 1, 0], [0.9, 0.6, 0.4, 0.2], {"cat": [1, 1, 0, 0]})
    >>> found.subgroups["cat"].false_positive_rate, found.backgrounds["cat"].false_positive_rate
    (1.0, 0.0)
    """
    if not math.isfinite(threshold):
        raise ValueError(f"`threshold` must be finite, not {threshold!r}.")
    inputs = Inputs.of(y_true, y_score, subgroups, data, positive, settings)
    split, predicted = inputs.split, inputs.y_score >= threshold
    subgroup_of, background_of = {}, {}
    for name, rows in zip(split.names, split.members, strict=True):
        subgroup_of[name] = _confusion(split.labels[rows], predicted[rows])
        background_of[name] = _confusion(np.delete(split.labels, rows), np.delete(predicted, rows))
    return ConfusionReport(_confusion(split.labels, predicted), subgroup_of, background_of)


def _confusion(labels: BoolArray, predicted: BoolArray) -> Confusion:
    sets = (labels & predicted, ~labels & predicted, ~labels & ~predicted, labels & ~predicted)
    return Confusion(*(int(np.count_nonzero(each)) for each in sets))


def _share(part: int, rest: int) -> float | None:
    return part / (part + rest) if part + rest else None

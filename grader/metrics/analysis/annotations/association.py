"""Mean prediction and AUC of rows that mention an identity against those that do not."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from grader.metrics.analysis.annotations.annotations import Annotations
from grader.metrics.analysis.annotations.fractions import TENTHS
from grader.metrics.analysis.annotations.multilabel import Predictions, by_labels
from grader.metrics.analysis.moments import power_of_two_near
from grader.metrics.analysis.rows import Rows
from grader.metrics.counting import count_pairs
from grader.metrics.prepared import BoolArray, FloatArray, PreparedSplit
from grader.metrics.subgroups import overall_comparison

Class = Literal["all", "positive", "negative"]
CLASSES: tuple[Class, ...] = get_args(Class)


@dataclass(frozen=True, slots=True)
class MeanScore:
    """The mean prediction of one class of rows, inside and outside a subgroup.

    Attributes
    ----------
    identity, label : str
    of : {"all", "positive", "negative"}
        Which rows, by the truth of the label.
    subgroup_rows, background_rows : int
    subgroup_mean, background_mean : float or None
        None without such rows.
    """

    identity: str
    label: str
    of: Class
    subgroup_rows: int
    background_rows: int
    subgroup_mean: float | None
    background_mean: float | None

    @property
    def difference(self) -> float | None:
        """Mean of the subgroup minus mean of the background; None without either."""
        if self.subgroup_mean is None or self.background_mean is None:
            return None
        return self.subgroup_mean - self.background_mean

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self) | {"difference": self.difference}


@dataclass(frozen=True, slots=True)
class ThresholdAuc:
    """The overall AUC where a label counts as true from another threshold on.

    Attributes
    ----------
    threshold : float
    positives : int
    overall_auc : float or None
        None where all rows are of one class.
    """

    threshold: float
    positives: int
    overall_auc: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


def mean_scores(annotations: Annotations, predictions: Predictions) -> tuple[MeanScore, ...]:
    """Return the mean prediction for each label, identity and class.

    Parameters
    ----------
    annotations : Annotations
    predictions : mapping of str to array_like, or array_like, shape (n,)
        As in `label_matrices`.

    Returns
    -------
    tuple of MeanScore
        Label by label, identity by identity: all rows, the positive and the negative ones.

    Raises
    ------
    ValueError
        If a prediction is of no label, or is not one finite number for each row.

    Examples
    --------
    >>> annotations = Annotations.of({"toxic": [1, 0, 1, 0]}, {"cat": [1, 1, 0, 0]})
    >>> for each in mean_scores(annotations, [0.75, 0.5, 0.75, 0.25]):
    ...     print(each.of, each.subgroup_mean, each.background_mean, each.difference)
    all 0.625 0.5 0.125
    positive 0.75 0.75 0.0
    negative 0.5 0.25 0.25
    """
    return tuple(
        each
        for label, scores in by_labels(annotations, predictions).items()
        for each in _mean_scores_of(label, annotations.rows(label, scores))
    )


def threshold_aucs(rows: Rows, thresholds: Sequence[float] = TENTHS[1:]) -> tuple[ThresholdAuc, ...]:
    """Return the overall AUC for each threshold from which the label could count as true.

    Parameters
    ----------
    rows : Rows
    thresholds : sequence of float

    Returns
    -------
    tuple of ThresholdAuc
        In the order of the thresholds.

    Notes
    -----
    Hann, Kalil and Payne, section 3.2, choose 0.5 over 0.1 because models do better at it.
    """
    found = []
    for threshold in thresholds:
        rows_from = replace(rows, settings=replace(rows.settings, label_threshold=threshold))
        split = PreparedSplit(rows_from.positive, (), (), ())
        auc = overall_comparison(count_pairs(split, rows.predictions)).auc
        found.append(ThresholdAuc(float(threshold), split.positives, auc))
    return tuple(found)


def _mean_scores_of(label: str, rows: Rows) -> list[MeanScore]:
    scale = power_of_two_near(rows.predictions) if rows.size else 1.0
    scores = rows.predictions / scale
    by_class = np.stack([np.where(rows.positive, scores, 0.0), np.where(rows.positive, 0.0, scores)])
    found = []
    for identity, mentions in rows.members.items():
        inside = _sums(by_class, rows.positive, mentions)
        outside = _sums(by_class, rows.positive, rows.background_of(identity))
        for of in CLASSES:
            (rows_in, sum_in), (rows_out, sum_out) = inside[of], outside[of]
            mean_in = sum_in / rows_in * scale if rows_in else None
            mean_out = sum_out / rows_out * scale if rows_out else None
            found.append(MeanScore(identity, label, of, rows_in, rows_out, mean_in, mean_out))
    return found


def _sums(by_class: FloatArray, positive: BoolArray, kept: BoolArray) -> dict[Class, tuple[int, float]]:
    """Count and add up the predictions of some rows, by class; two products are faster than picking rows."""
    of_positive, of_negative = (by_class @ kept.astype(np.float64)).tolist()
    positives, size = int(np.count_nonzero(kept & positive)), int(np.count_nonzero(kept))
    return {
        "all": (size, of_positive + of_negative),
        "positive": (positives, of_positive),
        "negative": (size - positives, of_negative),
    }

"""Cost of a classifier at each threshold."""

import math
from dataclasses import dataclass

import numpy as np

from grader.metrics.bias.prepared import BoolArray, FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class CostCurve:
    """The mean cost per row at every threshold; a row is flagged if ``prediction >= threshold``.

    Attributes
    ----------
    thresholds, flagged, costs : ndarray of float64, int64 and float64, shape (k + 1,)
        Infinity, which flags no row, and the k distinct predictions in descending order; the number of
        flagged rows; the mean cost per row.
    best, threshold : int, float
        The index of the lowest cost and its threshold; among equal costs, with the fewest flagged rows.
    """

    thresholds: FloatArray
    flagged: IndexArray
    costs: FloatArray
    best: int
    threshold: float


def cost_curve(positive: BoolArray, predictions: FloatArray, false_alarm: float, missed: float) -> CostCurve:
    r"""Return :math:`(c_{FP}\,FP(t) + c_{FN}\,FN(t)) / n` at every threshold t.

    Parameters
    ----------
    positive, predictions : ndarray of bool, ndarray of float64, shape (n,)
        The class and the finite prediction of each row, on any scale; n is at least 1.
    false_alarm, missed : float
        The costs of a flagged negative row and of a positive row that is not flagged, at least 0.

    Examples
    --------
    >>> curve = cost_curve(np.array([True, False, True]), np.array([0.9, 0.4, 0.2]), 1.0, 3.0)
    >>> curve.threshold, curve.costs.round(2)
    (0.2, array([2.  , 1.  , 1.33, 0.33]))
    """
    order = np.argsort(-predictions, kind="stable")
    in_order = predictions[order]
    last = np.flatnonzero(np.append(in_order[1:] != in_order[:-1], True))
    flagged = np.append(0, last + 1)
    hits = np.append(0, np.cumsum(positive[order])[last])
    costs = (false_alarm * (flagged - hits) + missed * (hits[-1] - hits)) / positive.size
    thresholds, best = np.append(math.inf, in_order[last]), int(np.argmin(costs))
    return CostCurve(thresholds, flagged, costs, best, float(thresholds[best]))

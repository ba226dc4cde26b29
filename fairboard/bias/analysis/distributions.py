"""Histograms of predictions and equality curves (Borkan et al., 2019, Figures 1 and 2, Table 7)."""

import math
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairboard.bias.analysis.data import Data, scores_of
from fairboard.bias.prepared import FloatArray

LabelClass = Literal["positive", "negative"]
_LARGEST = float(np.finfo(np.float64).max)


def mean(values: FloatArray) -> float:
    """Return the mean, or NaN if there are no values or their sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        result = float(values.mean()) if values.size else math.nan
    return result if math.isfinite(result) else math.nan


def deviation(values: FloatArray, ddof: int = 1) -> float:
    """Return the standard deviation (denominator n - `ddof`), or NaN for too few or too large values."""
    if values.size <= ddof or values.min() == values.max():
        return 0.0 if values.size > ddof else math.nan
    with np.errstate(over="ignore", invalid="ignore"):
        result = float(values.std(ddof=ddof))
    return result if math.isfinite(result) else math.nan


def even_edges(predictions: FloatArray, bins: int) -> FloatArray:
    """Return the edges of bins of equal width, from 0 to 1 or else over the range of the predictions."""
    lowest, highest = (float(predictions.min()), float(predictions.max())) if predictions.size else (0.0, 1.0)
    if lowest >= 0 and highest <= 1:
        lowest, highest = 0.0, 1.0
    elif lowest == highest:
        room = max(0.5, abs(lowest) * 2.0**-20)
        lowest, highest = max(lowest - room, -_LARGEST), min(highest + room, _LARGEST)
    return 2 * np.linspace(lowest / 2, highest / 2, bins + 1)  # The range may overflow.


def _sets(data: Data, scores: FloatArray, name: str) -> dict[str, FloatArray]:
    """Return the predictions in the background and the subgroup of an identity, by class."""
    kept, inside = data.considered[name] & data.labelled[data.label], data.members[name]
    positive = data.positive[data.label]
    classes = {"negative": kept & ~positive, "positive": kept & positive}
    groups = {"background": ~inside, "subgroup": inside}
    return {
        f"{part}_{of}": scores[rows & mask] for part, mask in groups.items() for of, rows in classes.items()
    }


def score_histograms(data: Data, predictions: ArrayLike, name: str, *, bins: int = 50) -> pd.DataFrame:
    """Count the predictions of the background and the subgroup of an identity in bins, by class.

    Returns
    -------
    DataFrame
        One row for each bin with its edges `low` and `high` (the last bin also contains its upper edge) and
        the columns `background_negative`, `background_positive`, `subgroup_negative` and
        `subgroup_positive`. The bins have equal width, from 0 to 1 or else over the range of all
        predictions.

    Examples
    --------
    >>> data = Data.of([1, 0, 0], {"cat": [0, 1, 0]})
    >>> score_histograms(data, [0.9, 0.4, 0.1], "cat", bins=2)["subgroup_negative"].tolist()
    [1, 0]
    """
    scores = scores_of(data, predictions)
    edges = even_edges(scores, bins)
    counts = {part: np.histogram(each, edges)[0] for part, each in _sets(data, scores, name).items()}
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], **counts})


def score_moments(data: Data, predictions: ArrayLike, name: str) -> pd.DataFrame:
    """Return the rows, mean and population standard deviation of the sets of `score_histograms`."""
    sets = _sets(data, scores_of(data, predictions), name)
    lines = {part: [each.size, mean(each), deviation(each, 0)] for part, each in sets.items()}
    return pd.DataFrame.from_dict(lines, orient="index", columns=["rows", "mean", "deviation"])


def equality_curve(data: Data, predictions: ArrayLike, name: str, label_class: LabelClass) -> pd.DataFrame:
    r"""Return the rates of an identity and of its background at each threshold, the highest first.

    If :math:`x(t)` is the subgroup's rate and :math:`y(t)` the background's rate at threshold t, then

    .. math:: \mathrm{AEG} = \tfrac12 - \int_0^1 y\,dx = \int_0^1 (x - y)\,dx

    Parameters
    ----------
    data : Data
    predictions : array_like, shape (n,)
    name : str
        An identity.
    label_class : {"positive", "negative"}
        The class of the rows. The rates are true positive rates for positive rows and false positive rates
        for negative rows. For both classes, a higher rate means higher predictions.

    Returns
    -------
    DataFrame
        The columns `threshold` (each distinct prediction), `subgroup` and `background` (the number of rows
        at or above it), `subgroup_rate`, `background_rate` and their difference `equality_gap`. Empty if
        either set has no rows.

    Notes
    -----
    Borkan et al. (2019), Definitions 2 to 4 and Theorem 3.1. Definition 2 has the opposite sign of the
    other two definitions, which their tables and this function follow. Taken literally, Definition 2
    integrates over thresholds, which yields a difference of mean predictions. Theorem 3.1 holds for the
    area.

    Examples
    --------
    >>> data = Data.of([1, 1, 1], {"cat": [1, 0, 0]})
    >>> equality_curve(data, [0.5, 0.9, 0.1], "cat", "positive")["equality_gap"].tolist()
    [-0.5, 0.5, 0.0]
    """
    sets = _sets(data, scores_of(data, predictions), name)
    parts = {part: sets[f"{part}_{label_class}"] for part in ("subgroup", "background")}
    thresholds = np.unique(np.concatenate([*parts.values()]))[::-1]
    curve = pd.DataFrame({"threshold": thresholds})
    for part, scores in parts.items():
        curve[part] = scores.size - np.searchsorted(np.sort(scores), thresholds)
    if not all(each.size for each in parts.values()):
        curve = curve[:0]
    for part in parts:
        curve[f"{part}_rate"] = curve[part] / curve[part].max()
    return curve.assign(equality_gap=curve["subgroup_rate"] - curve["background_rate"])


def aeg(curve: pd.DataFrame) -> float:
    """Return the AEG from exact counts, the signed area between diagonal and curve; NaN for an empty curve.

    The doubled number of background rows above subgroup rows, with ties counted once, is the sum of the
    trapezoids below the curve.
    """
    subgroup, background = (np.concatenate(([0], curve[part])) for part in ("subgroup", "background"))
    wins = int(np.dot(np.diff(subgroup), background[:-1] + background[1:]))
    pairs = int(subgroup[-1]) * int(background[-1])
    return (pairs - wins) / (2 * pairs) if pairs else math.nan


def widest(curve: pd.DataFrame) -> pd.Series:
    """Return the threshold with the largest absolute Equality Gap; ties go to the highest one."""
    return curve.iloc[int(curve["equality_gap"].abs().argmax())]

"""Equality curve over all thresholds (Borkan et al., 2019, Figure 2)."""

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairboard.bias.analysis.data import Data, scores_of

LabelClass = Literal["positive", "negative"]


def equality_curve(
    data: Data, predictions: ArrayLike, name: str, label_class: LabelClass, label: str | None = None
) -> pd.DataFrame:
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
    label : str, optional
        By default, the first one.

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
    scores = scores_of(data, predictions)
    kept = data.considered(name) & data.labelled(label)
    kept &= data.positive(label) if label_class == "positive" else ~data.positive(label)
    inside = data.members[name][kept]
    thresholds, places = np.unique(scores[kept], return_inverse=True)
    counts = {
        "subgroup": np.bincount(places[inside], minlength=thresholds.size)[::-1].cumsum(),
        "background": np.bincount(places[~inside], minlength=thresholds.size)[::-1].cumsum(),
    }
    curve = pd.DataFrame({"threshold": thresholds[::-1], **counts})
    if not 0 < np.count_nonzero(inside) < inside.size:
        curve = curve[:0]
    for part in counts:
        curve[f"{part}_rate"] = curve[part] / curve[part].max()
    return curve.assign(equality_gap=curve["subgroup_rate"] - curve["background_rate"])


def aeg(curve: pd.DataFrame) -> float:
    """Return the AEG of the class from exact counts: the signed area between the diagonal and the curve.

    The doubled number of background rows above subgroup rows, with ties counted once, is the sum of the
    trapezoids below the curve.
    """
    subgroup, background = (np.concatenate(([0], curve[part])) for part in ("subgroup", "background"))
    wins = int(np.dot(np.diff(subgroup), background[:-1] + background[1:]))
    pairs = int(subgroup[-1]) * int(background[-1])
    return (pairs - wins) / (2 * pairs)


def widest(curve: pd.DataFrame) -> pd.Series:
    """Return the threshold with the largest absolute Equality Gap; ties go to the highest one."""
    return curve.iloc[int(curve["equality_gap"].abs().argmax())]

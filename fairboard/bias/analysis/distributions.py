"""Histograms of predictions by subgroup and class (Borkan et al., 2019, Figure 1, Table 7)."""

import math

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairboard.bias.analysis.data import Data, scores_of
from fairboard.bias.prepared import BoolArray, FloatArray

_LARGEST = float(np.finfo(np.float64).max)


def mean(values: FloatArray) -> float | None:
    """Return the mean, or None if there are no values or their sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(values.mean()) if values.size else math.nan
    return found if math.isfinite(found) else None


def deviation(values: FloatArray, ddof: int = 1) -> float | None:
    """Return the standard deviation (denominator n - `ddof`), or None for too few or too large values."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(values.std(ddof=ddof)) if values.size > ddof else math.nan
    if values.size > ddof and values.min() == values.max():
        return 0.0
    return found if math.isfinite(found) else None


def even_edges(predictions: FloatArray, bins: int) -> FloatArray:
    """Return the edges of bins of equal width, from 0 to 1 or else over the range of the predictions."""
    lowest, highest = (float(predictions.min()), float(predictions.max())) if predictions.size else (0.0, 1.0)
    if lowest >= 0 and highest <= 1:
        lowest, highest = 0.0, 1.0
    elif lowest == highest:
        room = max(0.5, abs(lowest) * 2.0**-20)
        lowest, highest = max(lowest - room, -_LARGEST), min(highest + room, _LARGEST)
    return 2 * np.linspace(lowest / 2, highest / 2, bins + 1)  # The range may overflow.


def _sets(data: Data, name: str, label: str | None) -> dict[str, BoolArray]:
    """Return masks of the background and the subgroup of an identity, by class."""
    kept, inside = data.considered(name) & data.labelled(label), data.members[name]
    classes = {"negative": kept & ~data.positive(label), "positive": kept & data.positive(label)}
    groups = {"background": ~inside, "subgroup": inside}
    return {f"{group}_{of}": rows & mask for group, mask in groups.items() for of, rows in classes.items()}


def score_histograms(
    data: Data, predictions: ArrayLike, name: str, *, bins: int = 50, label: str | None = None
) -> pd.DataFrame:
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
    counts = {part: np.histogram(scores[rows], edges)[0] for part, rows in _sets(data, name, label).items()}
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], **counts})


def score_moments(data: Data, predictions: ArrayLike, name: str, label: str | None = None) -> pd.DataFrame:
    """Return the rows, mean and population standard deviation of the sets of `score_histograms`."""
    scores = scores_of(data, predictions)
    lines = {
        part: [np.count_nonzero(rows), mean(scores[rows]), deviation(scores[rows], 0)]
        for part, rows in _sets(data, name, label).items()
    }
    frame = pd.DataFrame.from_dict(lines, orient="index", columns=["rows", "mean", "deviation"])
    return frame.astype({"rows": int, "mean": float, "deviation": float})

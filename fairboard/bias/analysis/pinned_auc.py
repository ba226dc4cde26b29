"""Pinned AUC, its four components and its lack of robustness."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairboard.bias.analysis.data import Data, count
from fairboard.bias.counts import Comparison
from fairboard.bias.prepared import FloatArray

NOT_ROBUST = (
    "Pinned AUC is not robust. It weights its four AUCs by their numbers of pairs, so it changes with the "
    "share of positive rows in the subgroup even if the predictions stay the same. Use the Subgroup, BPSN "
    "and BNSP AUC instead."
)
PARTS = ("background_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc")
WEIGHTS = tuple(f"{part}_weight" for part in PARTS)


def pinned_auc(data: Data, predictions: ArrayLike) -> pd.DataFrame:
    r"""Return the expected pinned AUC of each identity over all random samples of the background.

    For the pinned dataset with N pairs of a negative and a positive row,

    .. math:: pAUC = \frac{|D^-||D^+|}{N} AUC(D^- + D^+) + \frac{|D_g^-||D_g^+|}{N} AUC(D_g^- + D_g^+)
              + \frac{|D^-||D_g^+|}{N} AUC(D^- + D_g^+) + \frac{|D_g^-||D^+|}{N} AUC(D_g^- + D^+)

    The number of positive rows in a sample has a hypergeometric distribution. Given this number, the
    expected AUC of each part is its AUC on all rows. The expectation is therefore the same sum with the
    expected weights, and no sampling is required.

    Returns
    -------
    DataFrame
        For each identity, the value, the four AUCs with their weights (the shares of the pairs), and the
        number of rows in the pinned set. If a sample could have rows of only one class, only `reason` has a
        value.

    Notes
    -----
    Borkan et al., "Limitations of Pinned AUC for Measuring Unintended Bias" (2019), equations 1 to 3. In
    the paper, N is printed as a sum but must be a product. The pinned set consists of all rows of the
    subgroup and an equal number of background rows, drawn without replacement. If the background is smaller
    than the subgroup, the roles are reversed.

    Examples
    --------
    >>> data = Data.of([1, 0, 1, 0], {"cat": [1, 1, 0, 0]})
    >>> float(pinned_auc(data, [0.9, 0.3, 0.4, 0.2]).loc["cat", "value"])
    1.0
    """
    lines = {name: _expected(cells) for name, cells in count(data, predictions).items()}
    columns = ["value", *PARTS, *WEIGHTS, "rows", "reason"]
    frame = pd.DataFrame.from_dict(lines, orient="index", columns=columns).rename_axis("identity")
    return frame.astype(dict.fromkeys(["value", *PARTS, *WEIGHTS], float))


def _expected(cells: Mapping[str, Comparison]) -> dict[str, Any]:
    """Return the values of one identity from its comparisons."""
    inside, outside = cells["subgroup_auc"], cells["background_auc"]
    size = min(inside.first + inside.second, outside.first + outside.second)
    if not size:
        return {"rows": 0, "reason": "the subgroup or the background is empty."}
    of_subgroup, chances = _positives_drawn(inside.first, inside.second, size)
    of_background, others = _positives_drawn(outside.first, outside.second, size)
    # The smaller set is used in full, so at least one of the two arrays has a single element.
    chances = chances * others
    pairs = (of_subgroup + of_background) * (2 * size - of_subgroup - of_background)
    if not pairs.all():
        return {"rows": 2 * size, "reason": "a sample may have rows of only one class."}
    on_each = (
        of_background * (size - of_background),
        of_subgroup * (size - of_subgroup),
        of_background * (size - of_subgroup),
        of_subgroup * (size - of_background),
    )
    weights = [float((chances * (falling / pairs)).sum()) for falling in on_each]
    aucs = [cells[part].auc for part in PARTS]
    value = math.fsum(weight * (auc or 0.0) for weight, auc in zip(weights, aucs, strict=True))
    # Dividing by the sum of the weights makes the value exactly 1 if all parts are 1.
    values = {"value": value / math.fsum(weights), "rows": 2 * size, **dict(zip(PARTS, aucs, strict=True))}
    return values | dict(zip(WEIGHTS, weights, strict=True))


def _positives_drawn(positives: int, negatives: int, size: int) -> tuple[FloatArray, FloatArray]:
    """Return the possible numbers of positive rows in a sample and their probabilities."""
    if size == positives + negatives:
        return np.array([float(positives)]), np.ones(1)
    possible = np.arange(max(0, size - negatives), min(size, positives) + 1, dtype=np.float64)
    before = possible[:-1]
    # The logarithms of the ratios of consecutive hypergeometric probabilities are summed.
    ratios = (positives - before) * (size - before) / ((before + 1) * (negatives - size + before + 1))
    logarithms = np.concatenate(([0.0], np.cumsum(np.log(ratios))))
    chances = np.exp(logarithms - logarithms.max())
    return possible, chances / chances.sum()

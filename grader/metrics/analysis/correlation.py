"""Pearson's correlation of identities with labels, or with what a model predicts for them."""

import math
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from grader.metrics.analysis.annotations import Annotations
from grader.metrics.analysis.matrix import Matrix
from grader.metrics.analysis.multilabel import Predictions, by_labels
from grader.metrics.prepared import BoolArray, FloatArray, as_vector, refuse_where

Reading = Literal["fractions", "binarized"]


def label_correlations(annotations: Annotations, reading: Reading = "fractions") -> Matrix:
    """Correlate every identity with every label.

    Parameters
    ----------
    annotations : Annotations
        A row in which either is blank takes no part; with the background ``"all"`` a blank identity is 0.
    reading : {"fractions", "binarized"}
        Whether the values stand as they are, or count as 1 from the threshold on and as 0 below.

    Returns
    -------
    Matrix
        Values in [-1, 1]; None where fewer than two rows are left or one side is constant.

    Notes
    -----
    Hann, Kalil and Payne, Figures 1 and 2, which do not say which reading they take. The binarized one is
    computed from exact counts; the last bits of the other may depend on the order of the rows.

    Examples
    --------
    >>> annotations = Annotations.of({"toxic": [1, 0, 1, 0.4]}, {"cat": [1, 0, 1, 0], "dog": [0, 0, 0, 0.4]})
    >>> print(label_correlations(annotations, "binarized"))
    identity     toxic
    cat          1.000
    dog              -
    """
    if reading not in get_args(Reading):
        raise ValueError(f'`reading` must be "fractions" or "binarized", not {reading!r}.')
    return _correlations(annotations, annotations.labels, annotations.positive, reading, "label_correlation")


def prediction_correlations(
    annotations: Annotations,
    predictions: Predictions,
    reading: Reading = "fractions",
) -> Matrix:
    """Correlate every identity with what a model predicts for every label.

    Parameters
    ----------
    annotations : Annotations
    predictions : mapping of str to array_like, or array_like, shape (n,)
        As in `label_matrices`.
    reading : {"fractions", "binarized"}
        How the identities are read; predictions are never binarized.

    Returns
    -------
    Matrix
        As of `label_correlations`, which it is to be held against.

    Raises
    ------
    ValueError
        If a prediction is of no label, or is not one finite number for each row.

    Notes
    -----
    Hann, Kalil and Payne, Figure 4.
    """
    if reading not in get_args(Reading):
        raise ValueError(f'`reading` must be "fractions" or "binarized", not {reading!r}.')
    scores = {}
    for label, values in by_labels(annotations, predictions).items():
        argument = f"predictions[{label!r}]"
        scores[label] = as_vector(argument, values, rows=annotations.size)
        refuse_where(~np.isfinite(scores[label]), argument, "finite")
        scores[label] = np.where(annotations.labelled[label], scores[label], np.nan)
    return _correlations(annotations, scores, None, reading, "prediction_correlation")


def pearson(first: FloatArray, second: FloatArray) -> float | None:
    """Return Pearson's r of two columns of shape (n,); None where n < 2 or a column is constant."""
    return _product(_standardized(first), _standardized(second))


def _correlations(
    annotations: Annotations,
    columns: Mapping[str, FloatArray],
    positive: Mapping[str, BoolArray] | None,
    reading: Reading,
    measure: str,
) -> Matrix:
    members, considered = annotations.members, annotations.considered
    values = {
        name: members[name].astype(np.float64) if reading == "binarized" else np.nan_to_num(column)
        for name, column in annotations.identities.items()
    }
    present = {label: ~np.isnan(column) for label, column in columns.items()}
    whole_identities = {name: _standardized(values[name]) for name in values if considered[name].all()}
    whole_columns = {label: _standardized(columns[label]) for label in columns if present[label].all()}

    def value_or_reason(identity: str, label: str) -> float | str:
        kept = considered[identity] & present[label]
        if positive is not None and reading == "binarized":
            r = _phi(members[identity][kept], positive[label][kept])
        elif identity in whole_identities and label in whole_columns:
            r = _product(whole_identities[identity], whole_columns[label])
        else:
            r = pearson(values[identity][kept], columns[label][kept])
        if r is not None:
            return r
        if np.count_nonzero(kept) < 2:
            return "there are fewer than two rows that have both."
        other = "label" if positive is not None else "prediction"
        constant = "identity" if _is_constant(values[identity][kept]) else other
        return f"the {constant} is the same in all rows."

    return Matrix.of(measure, annotations.identities, columns, value_or_reason)


def _standardized(values: FloatArray) -> FloatArray | None:
    """Return the values with mean 0 and length 1; None where they are constant."""
    if values.size < 2 or _is_constant(values):
        return None
    scaled = values / np.abs(values).max()  # so that no square overflows or vanishes
    centred = scaled - scaled.mean()
    centred /= np.abs(centred).max()
    standardized: FloatArray = centred / np.sqrt(centred @ centred)
    return standardized


def _product(first: FloatArray | None, second: FloatArray | None) -> float | None:
    return None if first is None or second is None else _within(float(first @ second))


def _phi(first: BoolArray, second: BoolArray) -> float | None:
    """Return Pearson's r of two columns of truth values, from exact counts."""
    rows, ones, others = first.size, int(first.sum()), int(second.sum())
    variances = ones * (rows - ones) * others * (rows - others)
    if not variances:
        return None
    both = int(np.count_nonzero(first & second))
    return _within((rows * both - ones * others) / math.sqrt(variances))


def _is_constant(values: FloatArray) -> bool:
    return bool(values.size == 0 or values.min() == values.max())


def _within(r: float) -> float:
    return min(max(r, -1.0), 1.0)

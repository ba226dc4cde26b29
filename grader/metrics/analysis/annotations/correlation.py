"""Correlation (Pearson) of identities with labels or predictions."""

import math
from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from grader.metrics.analysis.annotations.annotations import Annotations
from grader.metrics.analysis.annotations.multilabel import Predictions, by_labels
from grader.metrics.analysis.matrix import Matrix
from grader.metrics.prepared import BoolArray, FloatArray, as_vector, refuse_where

Reading = Literal["fractions", "binarized"]
Column = FloatArray | BoolArray


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
    columns = annotations.labels if reading == "fractions" else annotations.positive
    return _correlations("label_correlation", annotations, reading, columns, annotations.labelled, "label")


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
    scores: dict[str, FloatArray] = {}
    for label, values in by_labels(annotations, predictions).items():
        argument = f"predictions[{label!r}]"
        scores[label] = as_vector(argument, values, rows=annotations.size)
        refuse_where(~np.isfinite(scores[label]), argument, "finite")
    labelled = {label: annotations.labelled[label] for label in scores}
    return _correlations("prediction_correlation", annotations, reading, scores, labelled, "prediction")


def _correlations(
    measure: str,
    annotations: Annotations,
    reading: Reading,
    columns: Mapping[str, Column],
    present: Mapping[str, BoolArray],
    what: str,
) -> Matrix:
    """Correlate the identities with columns, which `what` names in a reason, where both are present."""
    is_exact = all(column.dtype == np.bool_ for column in columns.values())
    found: dict[tuple[str, str], float | str] = {}
    for names, considered in _alike(annotations.considered):
        for labels, there in _alike(present):
            kept = considered & there
            picked = {label: columns[label][kept] for label in labels}
            others = {} if is_exact else {label: _standardized(picked[label]) for label in labels}
            for name in names:  # one at a time: a training set has gigabytes of them
                first = _mentions(annotations, name, reading)[kept]
                one = None if is_exact else _standardized(first)
                for label in labels:
                    r = _phi(first, picked[label]) if is_exact else _product(one, others[label])
                    found[name, label] = _reason(first, what) if r is None else r
    return Matrix.of(measure, annotations.identities, columns, lambda *place: found[place])


def _mentions(annotations: Annotations, name: str, reading: Reading) -> Column:
    """Return an identity as it is read, blanks as no mention."""
    if reading == "binarized":
        return annotations.members[name]
    values = annotations.identities[name]
    return np.where(np.isnan(values), 0.0, values)


def _alike(masks: Mapping[str, BoolArray]) -> list[tuple[list[str], BoolArray]]:
    """Group the names that have the same rows, so that the rows are selected once."""
    together: dict[bytes, list[str]] = {}
    for name, mask in masks.items():
        together.setdefault(np.packbits(mask).tobytes(), []).append(name)
    return [(names, masks[names[0]]) for names in together.values()]


def _reason(first: Column, what: str) -> str:
    if first.size < 2:
        return "there are fewer than two rows that have both."
    return f"the {'identity' if _is_constant(first) else what} is the same in all rows."


def _standardized(column: Column) -> FloatArray | None:
    """Return the values with mean 0 and length 1; None where they are constant."""
    values = column.astype(np.float64)
    if values.size < 2 or _is_constant(values):
        return None
    scaled = values / np.abs(values).max()  # so that no square overflows or vanishes
    centred = scaled - scaled.mean()
    centred /= np.abs(centred).max()
    standardized: FloatArray = centred / np.sqrt(centred @ centred)
    return standardized


def _product(first: FloatArray | None, second: FloatArray | None) -> float | None:
    return None if first is None or second is None else _within(float(first @ second))


def _phi(first: Column, second: Column) -> float | None:
    """Return Pearson's r of two columns of truth values, from exact counts."""
    rows, ones, others = first.size, int(first.sum()), int(second.sum())
    variances = ones * (rows - ones) * others * (rows - others)
    if not variances:
        return None
    both = int(np.count_nonzero(np.logical_and(first, second)))
    return _within((rows * both - ones * others) / math.sqrt(variances))


def _is_constant(values: Column) -> bool:
    return bool(values.size == 0 or values.min() == values.max())


def _within(r: float) -> float:
    return min(max(r, -1.0), 1.0)

"""Associations between identities and labels or predictions: means, AUCs, correlations."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fairboard.bias.analysis.annotations import Annotations
from fairboard.bias.analysis.distributions import power_of_two_near
from fairboard.bias.analysis.matrix import Matrix, Predictions, by_labels
from fairboard.bias.analysis.rows import Rows
from fairboard.bias.prepared import (
    BoolArray,
    FloatArray,
    IndexArray,
    as_vector,
    refuse_where,
)
from fairboard.bias.subgroups import Flat

Class = Literal["all", "positive", "negative"]
CLASSES: tuple[Class, ...] = get_args(Class)
Reading = Literal["fractions", "binarized"]
Column = FloatArray | BoolArray


@dataclass(frozen=True, slots=True)
class MeanScore(Flat):
    """The mean predictions for one class of rows, in a subgroup and in its background.

    Attributes
    ----------
    identity, label : str
    of : {"all", "positive", "negative"}
        The class of the rows by label.
    subgroup_rows, background_rows : int
    subgroup_mean, background_mean : float or None
        Mean predictions; None if there are no such rows.
    """

    DERIVED = ("difference",)

    identity: str
    label: str
    of: Class
    subgroup_rows: int
    background_rows: int
    subgroup_mean: float | None
    background_mean: float | None

    @property
    def difference(self) -> float | None:
        """The subgroup's mean minus the background's; None if either is undefined."""
        if self.subgroup_mean is None or self.background_mean is None:
            return None
        return self.subgroup_mean - self.background_mean


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
        For each label and identity, the means of all, positive and negative rows.

    Raises
    ------
    ValueError
        If `predictions` contains an unknown label or does not contain one finite number for each row.

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


def _mean_scores_of(label: str, rows: Rows) -> list[MeanScore]:
    scale = power_of_two_near(rows.predictions) if rows.size else 1.0
    scores = rows.predictions / scale
    by_class = np.stack([np.where(rows.positive, scores, 0.0), np.where(rows.positive, 0.0, scores)])
    inside, means = np.zeros(rows.size), {}
    for names, considered in rows.considered_together():
        outside, size = considered.astype(np.float64), int(np.count_nonzero(considered))
        positives = int(np.count_nonzero(considered & rows.positive))
        for identity in names:
            mentions = rows.mentions[identity]
            inside[mentions], outside[mentions] = 1.0, 0.0
            # Matrix products are faster than selecting the rows of the background.
            of_subgroup, of_background = (by_class @ inside).tolist(), (by_class @ outside).tolist()
            inside[mentions], outside[mentions] = 0.0, 1.0
            among = int(np.count_nonzero(rows.positive[mentions]))
            sets = (
                _by_class(mentions.size, among, *of_subgroup),
                _by_class(size - mentions.size, positives - among, *of_background),
            )
            for of in CLASSES:
                (rows_in, sum_in), (rows_out, sum_out) = (each[of] for each in sets)
                mean_in = sum_in / rows_in * scale if rows_in else None
                mean_out = sum_out / rows_out * scale if rows_out else None
                means[identity, of] = MeanScore(identity, label, of, rows_in, rows_out, mean_in, mean_out)
    return [means[identity, of] for identity in rows.names for of in CLASSES]


def _by_class(
    size: int, positives: int, of_positive: float, of_negative: float
) -> dict[Class, tuple[int, float]]:
    """Return the number of rows of each class with the sum of their predictions."""
    return {
        "all": (size, of_positive + of_negative),
        "positive": (positives, of_positive),
        "negative": (size - positives, of_negative),
    }


def label_correlations(annotations: Annotations, reading: Reading = "fractions") -> Matrix:
    """Compute the Pearson correlation of every identity with every label.

    Parameters
    ----------
    annotations : Annotations
        The labels and identities. Rows in which either is blank are excluded; with the background ``"all"``,
        a blank identity counts as 0.
    reading : {"fractions", "binarized"}
        Whether to use the original values, or 1 for values of at least the threshold and 0 for lower values.

    Returns
    -------
    Matrix
        Correlations in [-1, 1]; None if fewer than two rows remain or either column is constant.

    Notes
    -----
    Hann, Kalil and Payne do not state which values Figures 1 and 2 use. The binarized correlation is computed
    from exact counts. The last bits of the correlation of fractions may depend on the order of the rows.

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
    """Compute the Pearson correlation of every identity with the predictions of every label.

    Parameters
    ----------
    annotations : Annotations
    predictions : mapping of str to array_like, or array_like, shape (n,)
        As in `label_matrices`.
    reading : {"fractions", "binarized"}
        The form of the identity values, as in `label_correlations`. Predictions are never binarized.

    Returns
    -------
    Matrix
        Correlations that can be compared with those of `label_correlations`.

    Raises
    ------
    ValueError
        If `predictions` contains an unknown label or does not contain one finite number for each row.

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
    """Correlate the identities with columns over the rows in which both are present.

    `what` is the name of the columns in the reasons for undefined cells.
    """
    is_exact = all(column.dtype == np.bool_ for column in columns.values())
    correlations: dict[tuple[str, str], float | str] = {}
    for names, considered in _alike(annotations.considered):
        for labels, there in _alike(present):
            kept = considered & there
            rows = slice(None) if kept.all() else kept
            picked = {label: columns[label][rows] for label in labels}
            others = {} if is_exact else {label: _standardized(picked[label]) for label in labels}
            # Identities are processed one at a time, because all of them together may not fit into memory.
            for name in names:
                first = _mentions(annotations, name, reading)[rows]
                places = np.flatnonzero(first != 0)
                one = None if is_exact else _standardized(first[places], first.size - places.size)
                for label in labels:
                    r = _phi(first, picked[label]) if is_exact else _product(one, others[label], places)
                    correlations[name, label] = _reason(first, what) if r is None else r
    return Matrix.of(measure, annotations.identities, columns, lambda *place: correlations[place])


def _mentions(annotations: Annotations, name: str, reading: Reading) -> Column:
    """Return the values of an identity as fractions or booleans; blanks count as no mention."""
    if reading == "binarized":
        return annotations.members[name]
    values = annotations.identities[name]
    is_blank = np.isnan(values)
    return np.where(is_blank, 0.0, values) if is_blank.any() else values


def _alike(masks: Mapping[str, BoolArray]) -> list[tuple[list[str], BoolArray]]:
    """Group the names with equal masks, so that their rows are selected only once."""
    packed = {key: np.packbits(mask).tobytes() for key, mask in {id(m): m for m in masks.values()}.items()}
    together: dict[bytes, list[str]] = {}
    for name, mask in masks.items():
        together.setdefault(packed[id(mask)], []).append(name)
    return [(names, masks[names[0]]) for names in together.values()]


def _reason(first: Column, what: str) -> str:
    if first.size < 2:
        return "fewer than two rows have both values."
    return f"the {'identity' if _is_constant(first) else what} is the same in all rows."


def _standardized(column: Column, zeros: int = 0) -> FloatArray | None:
    """Return the values scaled to mean 0 and Euclidean norm 1, or None if they are constant.

    If the column continues with zeros, the scaled value of 0 is subtracted. It does not change the product
    with another column, whose sum is 0.
    """
    size = column.size + zeros
    values: FloatArray = np.append(column, np.zeros(min(zeros, 1)))
    if size < 2 or _is_constant(values):
        return None
    lowest, highest = values.min(), values.max()
    values /= max(-lowest, highest)  # Scaling prevents overflow and underflow of the squares.
    mean = values.sum() / size
    values -= mean
    values /= np.abs(values).max()
    # In dot products, the synchronization of BLAS threads would take too long.
    squares = np.square(values)
    squares[column.size :] *= zeros
    values /= np.sqrt(squares.sum())
    values -= values[column.size :].sum()
    return values[: column.size]


def _product(first: FloatArray | None, second: FloatArray | None, places: IndexArray) -> float | None:
    """Return Pearson's r of two standardized columns, of which the first is 0 except at some places."""
    return None if first is None or second is None else _within(float((first * second[places]).sum()))


def _phi(first: Column, second: Column) -> float | None:
    """Return Pearson's r of two boolean columns, computed from exact counts."""
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

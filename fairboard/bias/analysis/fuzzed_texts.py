"""Fuzzed texts: effect of swapped identity words on the metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import localcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairboard.bias.analysis.annotations import Annotations
from fairboard.bias.analysis.counterfactual_pairs import match_pairs
from fairboard.bias.analysis.distributions import mean
from fairboard.bias.analysis.matrix import (
    LabelMatrices,
    Matrix,
    Predictions,
    by_labels,
    label_matrices,
)
from fairboard.bias.analysis.rows import Rows, count
from fairboard.bias.analysis.table import CELLS
from fairboard.bias.prepared import FloatArray, IndexArray, as_vector
from fairboard.bias.score import EXACT, exact_mean, exact_score, rounded
from fairboard.bias.subgroups import BIAS_AUCS, Cell, Flat

ORIGINAL_AND_FUZZED = ("original", "fuzzed")


@dataclass(frozen=True, slots=True)
class FuzzEffect(Flat):
    """One metric on the original and the fuzzed set.

    Attributes
    ----------
    original, fuzzed : float or None
        The value on each set; None if undefined.
    """

    DERIVED = ("difference",)

    original: float | None
    fuzzed: float | None

    @property
    def difference(self) -> float | None:
        """Fuzzed minus original value; None if either is undefined."""
        if self.original is None or self.fuzzed is None:
            return None
        return self.fuzzed - self.original


@dataclass(frozen=True, slots=True)
class ScoreShift(Flat):
    """The change of the predictions from each original row to its fuzzed twin.

    Attributes
    ----------
    label : str
    rows : int
    raised, lowered : int
        Numbers of rows whose fuzzed twin has a higher and a lower prediction. All other twins have equal
        predictions.
    mean, mean_absolute : float or None
        Mean difference and mean absolute difference, fuzzed minus original prediction; None if there are
        no rows.
    """

    label: str
    rows: int
    raised: int
    lowered: int
    mean: float | None
    mean_absolute: float | None


@dataclass(frozen=True, slots=True)
class FuzzedReport:
    """All metrics on an original and a fuzzed set.

    Attributes
    ----------
    original, fuzzed : LabelMatrices
        The metrics of each set.
    terms : mapping of str to mapping of str to Change
        For each label, the four terms of the score and the ``"score"`` itself, over the identities that have
        enough rows in both sets. Unless there is no such identity, the tables of the two sets contain the
        reasons for undefined values. The overall AUCs are those of Table 4.
    shifts : tuple of ScoreShift
        The shift of the predictions for each label; empty if the rows are not twins.
    """

    original: LabelMatrices
    fuzzed: LabelMatrices
    terms: Mapping[str, Mapping[str, FuzzEffect]]
    shifts: tuple[ScoreShift, ...]

    @property
    def overall_aucs(self) -> dict[str, FuzzEffect]:
        """The overall AUC of each label, as in Table 4."""
        return {label: changes["overall_auc"] for label, changes in self.terms.items()}

    def differences(self, cell: Cell) -> Matrix:
        """Return the fuzzed minus the original values of a metric, for identities and labels in both sets."""
        return self.fuzzed.matrix(cell).minus(self.original.matrix(cell))

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "terms": {
                label: {name: change.as_dict() for name, change in changes.items()}
                for label, changes in self.terms.items()
            },
            "differences": {cell: self.differences(cell).as_dict() for cell in CELLS},
            "original": self.original.as_dict(),
            "fuzzed": self.fuzzed.as_dict(),
            "shifts": [shift.as_dict() for shift in self.shifts],
        }


def compare_fuzzed(
    original: Annotations,
    original_predictions: Predictions,
    fuzzed: Annotations,
    fuzzed_predictions: Predictions,
    *,
    are_twins: bool = False,
    minimum_size: int = 0,
) -> FuzzedReport:
    """Measure a model on a set and on its fuzzed counterpart.

    Parameters
    ----------
    original, fuzzed : Annotations
        Labels and identities of the two sets, which may have different rows. Labels and identities that
        only one set has are measured on that set and excluded from the differences.
    original_predictions, fuzzed_predictions : mapping of str to array_like, or array_like
        As in `label_matrices`.
    are_twins : bool
        Whether row i of the fuzzed set is the counterpart of row i of the original set, so that
        predictions can be compared row by row.
    minimum_size : int
        As in `label_matrices`, applied to each set.

    Returns
    -------
    FuzzedReport

    Raises
    ------
    ValueError
        If `label_matrices` raises it, if the two sets of twins have different numbers of rows, or if no label
        was predicted on both sets.

    Notes
    -----
    Hann, Kalil and Payne, section 4.4 and Table 4. Their text states that all six AUCs decrease, but in the
    table the AUC of obscene increases.
    """
    ours, theirs = by_labels(original, original_predictions), by_labels(fuzzed, fuzzed_predictions)
    labels = [label for label in ours if label in theirs]
    if not labels:
        raise ValueError("No label was predicted on both the original and the fuzzed set.")
    if are_twins and original.size != fuzzed.size:
        raise ValueError(f"Twins must have the same number of rows, not {original.size} and {fuzzed.size}.")
    original_sizes, fuzzed_sizes = original.sizes(), fuzzed.sizes()
    names = [
        name
        for name in original_sizes
        if min(original_sizes[name], fuzzed_sizes.get(name, -1)) >= minimum_size
    ]
    terms = {}
    for label in labels:
        rows = original.rows(label, ours[label]).only(names), fuzzed.rows(label, theirs[label]).only(names)
        one, other = map(_terms, rows)
        terms[label] = {name: FuzzEffect(one[name], other[name]) for name in one}
    return FuzzedReport(
        original=label_matrices(original, original_predictions, minimum_size=minimum_size),
        fuzzed=label_matrices(fuzzed, fuzzed_predictions, minimum_size=minimum_size),
        terms=terms,
        shifts=tuple(_shift(label, ours[label], theirs[label]) for label in labels) if are_twins else (),
    )


def compare_twins(
    annotations: Annotations,
    predictions: Predictions,
    pair: Sequence[str],
    role: Sequence[str],
    *,
    roles: tuple[str, str] = ORIGINAL_AND_FUZZED,
    minimum_size: int = 0,
) -> FuzzedReport:
    """Measure a model on a set that contains rows and their fuzzed twins.

    Parameters
    ----------
    annotations : Annotations
    predictions : mapping of str to array_like, or array_like, shape (n,)
        As in `label_matrices`.
    pair, role : sequence of str, n of them
        As in `match_pairs`; rows without a pair are ignored.
    roles : (str, str)
        The names of the original and the fuzzed role.
    minimum_size : int
        As in `compare_fuzzed`.

    Returns
    -------
    FuzzedReport

    Raises
    ------
    ValueError
        If a row has no twin, or if `compare_fuzzed` raises it.
    """
    if len(pair) != annotations.size:
        raise ValueError(f"`pair` must have {annotations.size} values, not {len(pair)}.")
    matched = match_pairs(pair, role, roles)
    return compare_fuzzed(
        annotations.at(matched.first),
        _predictions_at(matched.first, predictions, annotations.size),
        annotations.at(matched.second),
        _predictions_at(matched.second, predictions, annotations.size),
        are_twins=True,
        minimum_size=minimum_size,
    )


def _predictions_at(rows: IndexArray, predictions: Predictions, size: int) -> Predictions:
    if isinstance(predictions, Mapping):
        return {
            label: as_vector(f"predictions[{label!r}]", values, rows=size)[rows]
            for label, values in predictions.items()
        }
    return as_vector("predictions", predictions, rows=size)[rows]


def _terms(rows: Rows) -> dict[str, float | None]:
    """Return the four terms and the score, computed from exact counts."""
    counted = count(rows)
    with localcontext(EXACT):
        exact = {"overall_auc": counted.overall.exact_auc}
        for cell in BIAS_AUCS:
            aucs = [counted.cells[name][cell].exact_auc for name in rows.names]
            exact[cell] = exact_mean(aucs, rows.settings)
    exact["score"] = exact_score(exact, rows.settings)
    return {name: rounded(value) for name, value in exact.items()}


def _shift(label: str, original: ArrayLike, fuzzed: ArrayLike) -> ScoreShift:
    moved: FloatArray = np.asarray(fuzzed, np.float64) - np.asarray(original, np.float64)
    return ScoreShift(
        label,
        moved.size,
        int(np.count_nonzero(moved > 0)),
        int(np.count_nonzero(moved < 0)),
        mean(moved),
        mean(np.abs(moved)),
    )

r"""Effect of a single row's label on the score.

`influences` describes the effect of rows with their current labels, if the score is a smooth function there.
If an identity's AUC is 0 or 1, its rows have no influence, although one changed label would change the AUC.
The changes computed here do not depend on the row's own label, so they are nearly the same for two solutions
that differ in one label. Influences and changes are defined whenever the score is defined. For :math:`-1 < p
< 1`, the slope of a power mean near an AUC of 0 is too large for a linear approximation: one row can raise
the mean from 0 to more than one half. `LabelEffects.leap` is the size of this increase.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.analysis.influence import ClassTable, Sets, without_gaps
from grader.metrics.metric_settings import MetricSettings
from grader.metrics.prepared import FloatArray, IndexArray
from grader.metrics.ranks import RankArray
from grader.metrics.reports import BiasReport
from grader.metrics.subgroups import BIAS_AUCS, BiasAuc

DECAY = 0.5
"""The decrease in the logarithm of a leap for each row that raises the AUC above 0."""
_SMOOTH = 10.0
"""Above this |p|, one AUC dominates the power mean, and two rows can change which AUC dominates."""
_INFINITE = 1000.0
"""Above this |p|, the power is treated as infinite; the two means differ by less than 1 %."""
_BACKGROUND: tuple[BiasAuc, BiasAuc] = ("bpsn_auc", "bnsp_auc")
"""The AUCs that use positive and negative background rows, respectively."""


@dataclass(frozen=True, eq=False, slots=True)
class LabelEffects:
    """The effects of rows and of their labels on the score.

    Attributes
    ----------
    influence : ndarray of float64, shape (rows,)
        Equal to `Influences.terms` where that is defined. AUCs below the contribution of one row are raised
        to this value.
    change : ndarray of float64, shape (rows,)
        Score with the row labeled positive minus score with the row labeled negative.
    leap : float
        The largest change near an AUC of 0; 0 for p <= -1 and p >= 1.
    """

    influence: FloatArray
    change: FloatArray
    leap: float


def label_effects(sets: Sets, ranks: RankArray, report: BiasReport, settings: MetricSettings) -> LabelEffects:
    """Return the effects for a submission with a defined score; the parameters are those of `influences`."""
    at, rows_at = without_gaps(ranks)
    ranks_count = rows_at.size
    every = [
        ClassTable.of(np.bincount(at[rows], minlength=ranks_count)) for rows in (sets.positive, sets.negative)
    ]
    totals = [table.size for table in every]
    lines = [(rows, line) for rows, line in zip(sets.members, report.subgroups, strict=True) if line.in_score]
    weights, leap = settings.weights.as_dict(), 0.0
    cells: dict[tuple[str, BiasAuc], _Cell] = {}
    for term in BIAS_AUCS:
        known = [(rows, line) for rows, line in lines if getattr(line, term) is not None]
        sizes = np.array([[each.size for each in rows] for rows, _ in known], np.int64).reshape(-1, 2).T
        if term in _BACKGROUND:
            label = _BACKGROUND.index(term)
            sizes[label] = totals[label] - sizes[label]
        aucs = np.array([getattr(line, term) for _, line in known], np.float64)
        slopes = weights[term] * _slopes(aucs, sizes, settings.power) / sizes[:, None]
        leap += weights[term] * _leap(aucs, sizes, settings.power)
        for number, (_, line) in enumerate(known):
            cells[line.name, term] = _Cell(aucs[number], slopes[:, :, number])
    # The first axis is the class of the row (positive, negative); the second is influence or change.
    found = np.zeros((2, 2, at.size))
    if report.overall_auc is not None:
        of_all = weights["overall_auc"] * _slopes(np.ones(1), np.array([totals]).T, 1.0)[:, :, 0]
        overall = _Cell(report.overall_auc, of_all / np.array([totals]).T)
        for label in (0, 1):
            found[label] += overall.effects(label, every[1 - label].doubled(at), totals[1 - label])
    # The effects of background rows are step functions of the rank with these heights and constants.
    heights, constants = np.zeros((2, 2, ranks_count)), np.zeros((2, 2, 1))
    for rows, line in lines:
        members = np.concatenate(rows)
        members = members[np.argsort(at[members])]  # lookups in ascending order are several times faster
        places = [np.sort(at[each]) for each in rows]
        own = [_doubled(each, at[members]) for each in places]
        for label in (0, 1):
            other = 1 - label
            rest = every[other].doubled(at[members]) - own[other]
            own_size, rest_size = rows[other].size, totals[other] - rows[other].size
            of_members = found[label][:, members]
            if cell := cells.get((line.name, "subgroup_auc")):
                of_members += cell.effects(label, own[other], own_size)
            if cell := cells.get((line.name, _BACKGROUND[other])):
                of_members += cell.effects(label, rest, rest_size)
            if cell := cells.get((line.name, _BACKGROUND[label])):
                # Subgroup rows are not part of the background, so the step function below is canceled.
                of_members -= cell.effects(label, own[other], own_size)
                steps, counts = np.unique(places[other], return_counts=True)
                height = np.multiply.outer(cell.slopes[label] * (1 - 2 * label), counts / own_size)
                heights[label][:, steps] += height
                constants[label, :, 0] += cell.slopes[label] * (label - cell.auc)
            found[label][:, members] = of_members
    found += (np.cumsum(heights, axis=2) - heights / 2 + constants)[:, :, at]
    (as_positive, if_positive), (as_negative, if_negative) = found
    return LabelEffects(
        np.where(sets.split.labels, as_positive, as_negative), if_positive - if_negative, leap
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Cell:
    """An AUC in the score, with the slopes of influence and change by label."""

    auc: float
    slopes: FloatArray

    def effects(self, label: int, doubled: IndexArray, others: int) -> FloatArray:
        """Return the effects of rows, given their doubled placements in the other class."""
        placed = doubled / (2 * others)
        found: FloatArray = np.multiply.outer(
            self.slopes[label], (1 - placed if label else placed) - self.auc
        )
        return found


def _doubled(others: IndexArray, places: IndexArray) -> IndexArray:
    found: IndexArray = np.searchsorted(others, places, "left") + np.searchsorted(others, places, "right")
    return found


def _slopes(aucs: FloatArray, sizes: IndexArray, power: float) -> FloatArray:
    """Return the slopes of the power mean with respect to each AUC, for rows of either class.

    Returns
    -------
    ndarray of float64, shape (2, 2, AUCs)
        The first axis is the class. The second axis contains the slope for influences, which includes the
        square root of the variance factor n / (n - 1), and the slope for changes.
    """
    found = np.zeros((2, 2, aucs.size))
    for number, size in enumerate(sizes):
        found[number, 0] = _derivative(np.maximum(aucs, 1 / size), power)
        found[number, 0] *= np.sqrt(size / np.maximum(size - 1, 1))
        found[number, 1] = _steepest(aucs, 1 / size, power)
    return found


def _steepest(aucs: FloatArray, units: FloatArray, power: float) -> FloatArray:
    """Return the largest slope of the power mean when an AUC changes by one row.

    If only the extreme AUC counts, a change by two rows is also tested. The AUCs are kept at least one row
    away from the end of the scale at which several AUCs would hide each other's effects.
    """
    base = np.maximum(aucs, units) if power < 1 else np.minimum(aucs, 1 - units)
    found, middle = np.zeros(aucs.size), _means(base, base, power)
    for rows in (-1, 1) if abs(power) <= _SMOOTH else (-2, -1, 1, 2):
        moved = np.clip(base + rows * units, 0, 1)
        distance, change = np.abs(moved - base), np.abs(_means(base, moved, power) - middle)
        steep = np.divide(change, distance, out=np.zeros(aucs.size), where=distance > 1e-9)
        found = np.maximum(found, steep)
    return found


def _derivative(values: FloatArray, power: float) -> FloatArray:
    """Return the gradient of the power mean of positive values, divided equally among equal extremes."""
    if abs(power) > _INFINITE:
        extreme = values == (values.max(initial=0) if power > 0 else values.min(initial=1))
        return np.asarray(extreme / max(np.count_nonzero(extreme), 1))
    found: FloatArray = (_means(values, values, power) / values) ** (1 - power) / max(values.size, 1)
    return found


def _leap(aucs: FloatArray, sizes: IndexArray, power: float) -> float:
    """Return the largest increase of a power mean from 0 by one row, damped for AUCs far from 0."""
    if abs(power) >= 1 or not aucs.size:
        return 0.0
    found = []
    for size in sizes:
        base = np.maximum(aucs, 1 / size)
        change = _means(base, 1 / size, power) - _means(base, 0, power)
        found.append(float((change * np.exp(-DECAY * aucs * size)).max()))
    return max(found)


def _means(base: FloatArray, moved: ArrayLike, power: float) -> FloatArray:
    """Return, for each value, the power mean if only this value is changed."""
    values = np.tile(base, (base.size, 1))
    np.fill_diagonal(values, moved)
    if abs(power) > _INFINITE:
        return np.asarray(values.max(axis=1, initial=0) if power > 0 else values.min(axis=1, initial=1))
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    if abs(power) < 1e-6:
        return np.asarray(np.exp(logs.sum(axis=1) / max(base.size, 1)))
    total = np.logaddexp.reduce(power * logs, axis=1, initial=-np.inf)
    return np.asarray(np.exp((total - math.log(max(base.size, 1))) / power))

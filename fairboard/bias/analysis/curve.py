"""Equality curve over all thresholds (Borkan et al., 2019, Figure 2)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from fairboard.bias.analysis.rows import Rows
from fairboard.bias.counts import Comparison
from fairboard.bias.prepared import FloatArray, IndexArray
from fairboard.bias.subgroups import Flat

LabelClass = Literal["positive", "negative"]


@dataclass(frozen=True, slots=True)
class ThresholdMark(Flat):
    """The rates at one threshold of the curve.

    Attributes
    ----------
    threshold : float
        Rows with ``prediction >= threshold`` pass.
    subgroup_rate, background_rate : float
        Share of the subgroup rows and of the background rows that pass.
    """

    DERIVED = ("equality_gap",)

    threshold: float
    subgroup_rate: float
    background_rate: float

    @property
    def equality_gap(self) -> float:
        """The subgroup's rate minus the background's; above 0, the subgroup passes more often."""
        return self.subgroup_rate - self.background_rate


@dataclass(frozen=True, eq=False)
class EqualityCurve:
    """The curve of the background's rate against the subgroup's rate over all thresholds.

    The curve runs from (0, 0) to (1, 1).

    Attributes
    ----------
    name : str
        The identity.
    label_class : {"positive", "negative"}
        The class of the rows. The rates are true positive rates for positive rows and false positive rates
        for negative rows. For both classes, a higher rate means higher predictions.
    thresholds : ndarray of float64, shape (k,)
        The distinct predictions of both sets, descending.
    passed : ndarray of int64, shape (k,)
        Number of rows of both sets with ``prediction >= threshold``.
    places : ndarray of int64, shape (subgroup_rows,)
        Ascending indices of the subgroup's predictions in `thresholds`.
    """

    name: str
    label_class: LabelClass
    thresholds: FloatArray
    passed: IndexArray
    places: IndexArray

    @property
    def subgroup_rows(self) -> int:
        """Number of subgroup rows in this class."""
        return self.places.size

    @property
    def background_rows(self) -> int:
        """Number of background rows in this class."""
        return int(self.passed[-1]) - self.places.size

    @property
    def x(self) -> FloatArray:
        """The subgroup's rates, of shape (k + 1,), starting with 0."""
        subgroup, _ = self._passed_at(np.arange(self.thresholds.size))
        return np.concatenate(([0.0], subgroup / self.subgroup_rows))

    @property
    def y(self) -> FloatArray:
        """The background's rates, of shape (k + 1,), starting with 0."""
        background = self.passed - np.cumsum(np.bincount(self.places, minlength=self.thresholds.size))
        return np.concatenate(([0.0], background / self.background_rows))

    @cached_property
    def bends(self) -> IndexArray:
        """Indices of the thresholds at which the curve may bend, including the last threshold.

        The curve can bend only at a prediction of the subgroup and immediately before one. Elsewhere, only
        the background's rate changes, so the curve is vertical.
        """
        distinct = self.places[np.diff(self.places, prepend=-1) > 0]
        pairs = np.stack([distinct - 1, distinct], axis=1).ravel()
        bends = np.append(np.maximum(pairs, 0), self.thresholds.size - 1)
        return bends[np.diff(bends, prepend=-1) > 0]

    @cached_property
    def _passed(self) -> tuple[IndexArray, IndexArray]:
        """Numbers of subgroup and background rows that pass the thresholds at the bends."""
        return self._passed_at(self.bends)

    @cached_property
    def comparison(self) -> Comparison:
        r"""The area under the curve, as an exact count of background rows above subgroup rows.

        Each step of the curve is a trapezoid. Its width is the number of subgroup rows at a threshold, and
        its height is the mean number of background rows before and after the step. Twice its area counts 2
        for each background row above a subgroup row and 1 for each tie.
        """
        subgroup, background = self._passed
        heights = np.concatenate(([0], background))
        doubled = np.dot(np.diff(subgroup, prepend=0), heights[:-1] + heights[1:])
        return Comparison(int(doubled), self.background_rows, self.subgroup_rows)

    @property
    def aeg(self) -> float:
        """The AEG of the class: signed area between the diagonal and the curve, in [-0.5, 0.5]."""
        gap = self.comparison.gap
        assert gap is not None  # noqa: S101 - curves without rows are not created
        return gap

    def at(self, threshold: float) -> ThresholdMark:
        """Return the rates at any threshold, which need not equal a prediction."""
        place = self.thresholds.size - int(np.searchsorted(self.thresholds[::-1], threshold)) - 1
        return (
            self._mark(float(threshold), place) if place >= 0 else ThresholdMark(float(threshold), 0.0, 0.0)
        )

    def reaching(self, shares: Sequence[float]) -> FloatArray:
        """Return the highest thresholds at which at least these shares of the background pass."""
        needed = np.multiply(shares, self.background_rows).astype(np.int64)
        needed += needed / self.background_rows < shares
        subgroup, background = self._passed
        # Between two bends, the number of passing subgroup rows does not change.
        bend = background.searchsorted(needed)
        before = np.concatenate(([0], subgroup))[bend]
        thresholds: FloatArray = self.thresholds[
            np.minimum(self.passed.searchsorted(needed + before), self.bends[bend])
        ]
        return thresholds

    def widest(self) -> ThresholdMark:
        """Return the threshold with the largest absolute Equality Gap; ties go to the highest one."""
        subgroup, background = self._passed
        gaps = np.abs(subgroup / self.subgroup_rows - background / self.background_rows)
        place = int(self.bends[np.argmax(gaps)])
        return self._mark(self.thresholds[place], place)

    def meets_diagonal(self) -> bool:
        """Return whether the rates are equal anywhere between the two ends of the curve.

        Between two thresholds the curve is a straight line, which represents a random choice between the
        two thresholds.
        """
        ours, theirs = self._passed
        signs = np.sign(ours[:-1] * self.background_rows - theirs[:-1] * self.subgroup_rows)
        # A curve that consists of a single straight line is the diagonal itself.
        return signs.size == 0 or bool((signs == 0).any() or (signs[1:] != signs[:-1]).any())

    def points(self, most: int = 200) -> list[tuple[float, float]]:
        """Return at most `most` points for rendering the curve: a selection of bends and both ends."""
        kept = np.linspace(0, self.bends.size, min(self.bends.size + 1, most)).round().astype(np.int64)
        xs, ys = (
            passed[kept[1:] - 1] / rows
            for passed, rows in zip(self._passed, (self.subgroup_rows, self.background_rows), strict=True)
        )
        return [(0.0, 0.0), *zip(xs.tolist(), ys.tolist(), strict=True)]

    def _passed_at(self, places: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return the numbers of subgroup and background rows that pass the given thresholds."""
        subgroup = np.searchsorted(self.places, places, side="right")
        return subgroup, self.passed[places] - subgroup

    def _mark(self, threshold: float, place: int) -> ThresholdMark:
        subgroup, background = self._passed_at(np.array([place]))
        return ThresholdMark(
            float(threshold),
            float(subgroup[0] / self.subgroup_rows),
            float(background[0] / self.background_rows),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with the curve reduced to the points required for rendering."""
        return {
            "identity": self.name,
            "class": self.label_class,
            "subgroup_rows": self.subgroup_rows,
            "background_rows": self.background_rows,
            "aeg": self.aeg,
            "widest": self.widest().as_dict(),
            "points": [list(point) for point in self.points()],
        }


def equality_curve(rows: Rows, name: str, label_class: LabelClass) -> EqualityCurve | None:
    r"""Return the curve of one identity and class, or None if either set is empty.

    If :math:`x(t)` is the subgroup's rate and :math:`y(t)` the background's rate at threshold t, then

    .. math:: \mathrm{AEG} = \tfrac12 - \int_0^1 y\,dx = \int_0^1 (x - y)\,dx

    Parameters
    ----------
    rows : Rows
    name : str
        An identity of the rows.
    label_class : {"positive", "negative"}

    Returns
    -------
    EqualityCurve or None

    Notes
    -----
    Borkan et al. (2019), Definitions 2 to 4 and Theorem 3.1. Definition 2 has the opposite sign of the
    other two definitions, which their tables and this function follow. Taken literally, Definition 2
    integrates over thresholds, which yields a difference of mean predictions. Theorem 3.1 holds for the area.
    """
    return next(equality_curves(rows.only([name]), (label_class,)), None)


def equality_curves(
    rows: Rows, label_classes: Sequence[LabelClass] = ("positive", "negative")
) -> Iterator[EqualityCurve]:
    """Yield the curves of all identities for which both sets have rows, class by class.

    The curves are yielded one at a time, because together they can use more memory than the rest of a report.
    """
    ranks = rows.ranks
    predictions = np.empty(int(ranks.max(initial=0)) + 1)
    predictions[ranks] = rows.predictions
    for label_class in label_classes:
        of_class = rows.positive if label_class == "positive" else ~rows.positive
        for names, considered in rows.considered_together():
            kept = of_class & considered
            at = np.bincount(ranks[kept], minlength=predictions.size)
            reached = np.flatnonzero(at)[::-1]
            place_of = np.empty(predictions.size, np.int64)
            place_of[reached] = np.arange(reached.size)
            thresholds, passed = predictions[reached], np.cumsum(at[reached])
            for name in names:
                subgroup = rows.mentions[name][kept[rows.mentions[name]]]
                if 0 < subgroup.size < np.count_nonzero(kept):
                    places = np.sort(place_of[ranks[subgroup]])
                    yield EqualityCurve(name, label_class, thresholds, passed, places)

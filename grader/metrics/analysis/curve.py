"""Equality gap curve over thresholds (Figure 2 of Borkan et al., 2019)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from grader.metrics.analysis.rows import Rows
from grader.metrics.counts import Comparison
from grader.metrics.prepared import FloatArray, IndexArray
from grader.metrics.ranks import dense_ranks

LabelClass = Literal["positive", "negative"]


@dataclass(frozen=True, slots=True)
class ThresholdMark:
    """One threshold on the curve.

    Attributes
    ----------
    threshold : float
        Rows with ``prediction >= threshold`` pass.
    subgroup_rate, background_rate : float
        Share of the rows of each set that pass.
    """

    threshold: float
    subgroup_rate: float
    background_rate: float

    @property
    def equality_gap(self) -> float:
        """The subgroup's rate minus the background's: above 0 the subgroup is passed more often."""
        return self.subgroup_rate - self.background_rate

    def as_dict(self) -> dict[str, float]:
        """Return JSON-ready data."""
        return {
            "threshold": self.threshold,
            "subgroup_rate": self.subgroup_rate,
            "background_rate": self.background_rate,
            "equality_gap": self.equality_gap,
        }


@dataclass(frozen=True, eq=False)
class EqualityCurve:
    """The curve through (subgroup's rate, background's rate) of every threshold, from (0, 0) to (1, 1).

    Attributes
    ----------
    name : str
        The identity.
    label_class : {"positive", "negative"}
        Which rows are looked at. The rates are true positive rates of positive rows, and false
        positive rates of negative ones, so that in both a higher rate means higher predictions.
    thresholds : ndarray of float64, shape (k,)
        The distinct predictions of both sets, descending.
    passed : ndarray of int64, shape (k,)
        Rows of both sets together with ``prediction >= threshold``.
    places : ndarray of int64, shape (subgroup_rows,)
        Where in `thresholds` the predictions of the subgroup stand, ascending.
    """

    name: str
    label_class: LabelClass
    thresholds: FloatArray
    passed: IndexArray
    places: IndexArray

    @property
    def subgroup_rows(self) -> int:
        """Rows of the subgroup in this class."""
        return self.places.size

    @property
    def background_rows(self) -> int:
        """Rows of the background in this class."""
        return int(self.passed[-1]) - self.places.size

    @property
    def x(self) -> FloatArray:
        """The subgroup's rates, of shape (k + 1,), beginning at 0."""
        subgroup, _ = self._passed_at(np.arange(self.thresholds.size))
        return np.concatenate(([0.0], subgroup / self.subgroup_rows))

    @property
    def y(self) -> FloatArray:
        """The background's rates, of shape (k + 1,), beginning at 0."""
        _, background = self._passed_at(np.arange(self.thresholds.size))
        return np.concatenate(([0.0], background / self.background_rows))

    @cached_property
    def bends(self) -> IndexArray:
        """The thresholds at which the curve may bend, by their place, the last one among them.

        It does so before and at a prediction of the subgroup; from there to the next one only the
        background's rate moves, straight upwards.
        """
        distinct = self.places[np.diff(self.places, prepend=-1) > 0]
        pairs = np.stack([distinct - 1, distinct], axis=1).ravel()
        bends = np.append(np.maximum(pairs, 0), self.thresholds.size - 1)
        return bends[np.diff(bends, prepend=-1) > 0]

    @cached_property
    def _passed(self) -> tuple[IndexArray, IndexArray]:
        """How many rows of the subgroup and of the background pass the thresholds at the bends."""
        return self._passed_at(self.bends)

    @cached_property
    def comparison(self) -> Comparison:
        r"""The area under the curve as an exact count: background rows above rows of the subgroup.

        A step of the curve is a trapezoid of the width of the subgroup's rows at a threshold and
        the mean height of the background's rows before and after it. Doubled, that counts 2 for
        each of the background's rows above them and 1 for each tie.
        """
        subgroup, background = self._passed
        heights = np.concatenate(([0], background))
        doubled = np.dot(np.diff(subgroup, prepend=0), heights[:-1] + heights[1:])
        return Comparison(int(doubled), self.background_rows, self.subgroup_rows)

    @property
    def aeg(self) -> float:
        """The signed area between the diagonal and the curve, in [-0.5, 0.5]: the AEG of the class."""
        gap = self.comparison.gap
        assert gap is not None  # noqa: S101 - a curve without rows is not made
        return gap

    def at(self, threshold: float) -> ThresholdMark:
        """Return the rates at any threshold, whether a row has that prediction or not."""
        place = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        return (
            self._mark(float(threshold), place) if place >= 0 else ThresholdMark(float(threshold), 0.0, 0.0)
        )

    def widest(self) -> ThresholdMark:
        """Return the threshold with the largest Equality Gap in either direction, the highest of equals."""
        subgroup, background = self._passed
        gaps = np.abs(subgroup / self.subgroup_rows - background / self.background_rows)
        place = int(self.bends[np.argmax(gaps)])
        return self._mark(self.thresholds[place], place)

    def meets_diagonal(self) -> bool:
        """Return whether the rates are equal somewhere between the two ends of the curve.

        Between two thresholds the curve is a straight line: the rates of a decision by lot between
        them.
        """
        ours, theirs = self._passed
        signs = np.sign(ours[:-1] * self.background_rows - theirs[:-1] * self.subgroup_rows)
        # One straight line from end to end is the diagonal itself.
        return signs.size == 0 or bool((signs == 0).any() or (signs[1:] != signs[:-1]).any())

    def points(self, most: int = 200) -> list[tuple[float, float]]:
        """Return at most so many points where the curve bends, the ends among them, for drawing it."""
        kept = np.linspace(0, self.bends.size, min(self.bends.size + 1, most)).round().astype(np.int64)
        xs, ys = (
            passed[kept[1:] - 1] / rows
            for passed, rows in zip(self._passed, (self.subgroup_rows, self.background_rows), strict=True)
        )
        return [(0.0, 0.0), *zip(xs.tolist(), ys.tolist(), strict=True)]

    def _passed_at(self, places: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return how many rows of the subgroup and of the background pass some of the thresholds."""
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
        """Return JSON-ready data, with the curve thinned out to what can be drawn."""
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
    r"""Return the curve of one identity and class, or None where one of the two sets is empty.

    With :math:`x(t)` the subgroup's and :math:`y(t)` the background's rate at threshold t,

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
    Borkan et al. (2019), Definitions 2 to 4 and Theorem 3.1. Definition 2 has the opposite sign of
    the other two, which their tables follow and so do we; read literally it integrates over
    thresholds, which is a difference of mean predictions. Theorem 3.1 holds for the area.
    """
    return next(equality_curves(rows.only([name]), (label_class,)), None)


def equality_curves(
    rows: Rows, label_classes: Sequence[LabelClass] = ("positive", "negative")
) -> Iterator[EqualityCurve]:
    """Yield the curves of all identities, class by class, where both sets have rows.

    One at a time, because together they may take more memory than all the rest of a report.
    """
    ranks = dense_ranks(rows.predictions)
    predictions = np.empty(int(ranks.max(initial=0)) + 1)
    predictions[ranks] = rows.predictions
    members = {name: np.flatnonzero(mentions) for name, mentions in rows.members.items()}
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
                subgroup = members[name][kept[members[name]]]
                if 0 < subgroup.size < np.count_nonzero(kept):
                    places = np.sort(place_of[ranks[subgroup]])
                    yield EqualityCurve(name, label_class, thresholds, passed, places)

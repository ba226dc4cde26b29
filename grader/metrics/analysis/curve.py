"""Figure 2 of Borkan et al. (2019): how often subgroup and background pass each threshold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from grader.metrics.analysis.rows import Rows
from grader.metrics.auc import Comparison
from grader.metrics.prepared import FloatArray, IndexArray

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
    subgroup_passed, background_passed : ndarray of int64, shape (k,)
        Rows of each set with ``prediction >= threshold``.
    """

    name: str
    label_class: LabelClass
    thresholds: FloatArray
    subgroup_passed: IndexArray
    background_passed: IndexArray

    @property
    def subgroup_rows(self) -> int:
        """Rows of the subgroup in this class."""
        return int(self.subgroup_passed[-1])

    @property
    def background_rows(self) -> int:
        """Rows of the background in this class."""
        return int(self.background_passed[-1])

    @cached_property
    def x(self) -> FloatArray:
        """The subgroup's rates, of shape (k + 1,), beginning at 0."""
        return np.concatenate(([0.0], self.subgroup_passed / self.subgroup_rows))

    @cached_property
    def y(self) -> FloatArray:
        """The background's rates, of shape (k + 1,), beginning at 0."""
        return np.concatenate(([0.0], self.background_passed / self.background_rows))

    @cached_property
    def comparison(self) -> Comparison:
        r"""The area under the curve as an exact count: background rows above rows of the subgroup.

        A step of the curve is a trapezoid of the width of the subgroup's rows at a threshold and
        the mean height of the background's rows before and after it. Doubled, that counts 2 for
        each of the background's rows above them and 1 for each tie.
        """
        heights = np.concatenate(([0], self.background_passed))
        widths = np.diff(self.subgroup_passed, prepend=0)
        doubled = np.dot(widths, heights[:-1] + heights[1:])
        return Comparison(int(doubled), self.background_rows, self.subgroup_rows)

    @property
    def aeg(self) -> float:
        """The signed area between the diagonal and the curve, in [-0.5, 0.5]: the AEG of the class."""
        gap = self.comparison.gap
        assert gap is not None  # noqa: S101 - a curve without rows is not made
        return gap

    def at(self, threshold: float) -> ThresholdMark:
        """Return the rates at any threshold, whether a row has that prediction or not."""
        place = int(np.searchsorted(-self.thresholds, -threshold, side="right"))
        return ThresholdMark(float(threshold), float(self.x[place]), float(self.y[place]))

    def widest(self) -> ThresholdMark:
        """Return the threshold with the largest Equality Gap in either direction, the highest of equals."""
        place = 1 + int(np.argmax(np.abs(self.x - self.y)[1:]))
        return ThresholdMark(float(self.thresholds[place - 1]), float(self.x[place]), float(self.y[place]))

    def meets_diagonal(self) -> bool:
        """Return whether the rates are equal somewhere between the two ends of the curve.

        Between two thresholds the curve is a straight line: the rates of a decision by lot between
        them.
        """
        ours, theirs = self.subgroup_passed, self.background_passed
        signs = np.sign(ours[:-1] * self.background_rows - theirs[:-1] * self.subgroup_rows)
        # One straight line from end to end is the diagonal itself.
        return signs.size == 0 or bool((signs == 0).any() or (signs[1:] != signs[:-1]).any())

    def points(self, most: int = 200) -> list[tuple[float, float]]:
        """Return at most so many points of the curve, the ends among them, for drawing it."""
        size = self.x.size
        places = np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(np.int64))
        return [(float(self.x[place]), float(self.y[place])) for place in places]

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
    thresholds, ranks = np.unique(rows.predictions, return_inverse=True)
    for label_class in label_classes:
        of_class = rows.positive if label_class == "positive" else ~rows.positive
        everybody = np.bincount(ranks[of_class], minlength=thresholds.size)
        for name in rows.names:
            subgroup = np.bincount(ranks[of_class & rows.members[name]], minlength=thresholds.size)
            blank = np.bincount(ranks[of_class & ~rows.considered(name)], minlength=thresholds.size)
            background = everybody - blank - subgroup
            if subgroup.any() and background.any():
                yield _curve(name, label_class, thresholds, subgroup, background)


def _curve(
    name: str, label_class: LabelClass, thresholds: FloatArray, subgroup: IndexArray, background: IndexArray
) -> EqualityCurve:
    """Return the curve from the rows at each ascending threshold; some thresholds have none."""
    reached = np.flatnonzero(subgroup + background)[::-1]
    return EqualityCurve(
        name=name,
        label_class=label_class,
        thresholds=thresholds[reached],
        subgroup_passed=np.cumsum(subgroup[reached]),
        background_passed=np.cumsum(background[reached]),
    )

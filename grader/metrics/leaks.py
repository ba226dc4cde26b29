"""Label leaks through row order, ids or hashes, measured as AUCs.

An order leaks the labels if positive rows come first or last. Groups, such as the last digit of an id, leak
them if the share of positive rows differs between groups. An order may not show such a leak: `id % 2` does
not grow with the id.
"""

import enum
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.metrics.prepared import BoolArray

TOLERANCE = 0.05
NOTEWORTHY = 0.02
CERTAINTY = 4.0
# The chance of a false alarm of one grouping is below exp(-GROUPS_DOUBT), 2e-9: hundreds may be looked at.
GROUPS_DOUBT = 20.0


class Verdict(enum.StrEnum):
    """What an AUC says: nothing, something to look at, or that the truth is given away."""

    CLEAN = "clean"
    NOTEWORTHY = "noteworthy"
    LEAK = "leak"


def by_chance(standard_error: float) -> str:
    """Return in words which AUCs a value that knows nothing has, within two standard errors.

    Parameters
    ----------
    standard_error : float
        Of the AUC of such a value.

    Returns
    -------
    str
        ``0.5 ± 0.041``; where that leaves 0..1, that the rows are too few to tell.
    """
    within = 2 * standard_error
    return f"0.5 ± {within:.3f}" if within < 0.5 else "any: too few rows"


@dataclass(frozen=True, slots=True)
class Leak:
    """How well a visible value orders a hidden one.

    Attributes
    ----------
    auc : float
    standard_error : float
        Of the AUC of a value that knows nothing.
    verdict : Verdict
    """

    auc: float
    standard_error: float
    verdict: Verdict


@dataclass(frozen=True, eq=False)
class VisibleOrder:
    """The order of a value that everybody sees, ranked once for all that it may give away.

    Attributes
    ----------
    midranks : array of int64, shape (n,)
        For each row the number of rows below it plus the number of rows not above it.
    """

    midranks: NDArray[np.int64]

    @classmethod
    def of(cls, values: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint64]) -> "VisibleOrder":
        """Rank finite values of shape (n,); only their order counts."""
        _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        return cls((2 * ends - counts)[places].astype(np.int64))

    def leak(self, hidden: BoolArray) -> Leak | None:
        r"""Return how well the order predicts a hidden fact.

        Parameters
        ----------
        hidden : array of bool, shape (n,)

        Returns
        -------
        Leak or None
            None where `hidden` has one class only.

        Notes
        -----
        A value that knows nothing has the AUC 1/2 with the standard error
        :math:`\sqrt{(n_1 + n_0 + 1) / (12\, n_1 n_0)}`. It is a leak when even four standard errors nearer to
        1/2 it is outside 0.45..0.55, and noteworthy when it is four standard errors and 0.02 away: so small
        cells and many comparisons raise no alarm.
        """
        positives = int(np.count_nonzero(hidden))
        pairs = positives * (hidden.size - positives)
        if not pairs:
            return None
        auc = (int(self.midranks[hidden].sum()) - positives**2) / (2 * pairs)
        error = _error(hidden.size, pairs)
        return Leak(auc, error, _verdict(abs(auc - 0.5), CERTAINTY * error))


@dataclass(frozen=True, eq=False)
class VisibleGroups:
    """Groups of rows that everybody can form.

    Attributes
    ----------
    codes : array of uint8, shape (n,)
        For each row the number of its group.
    """

    codes: NDArray[np.uint8]

    def leak(self, hidden: BoolArray) -> Leak | None:
        r"""Return how well the groups predict a hidden fact.

        Parameters
        ----------
        hidden : array of bool, shape (n,)

        Returns
        -------
        Leak or None
            The AUC is that of whoever knows the share of positives in each of the k groups, and so is never
            below 1/2; the standard error is that of an order, times :math:`\sqrt{k - 1}`. None where `hidden`
            has one class only, or all rows are in one group.

        Notes
        -----
        The AUC of *any* order of k groups is at most :math:`\sqrt{\chi^2}` standard errors of an order from
        1/2, where :math:`\chi^2` is that of the k x 2 table, with :math:`d = k - 1` degrees of freedom.
        Laurent and Massart (2000), lemma 1, bound it: it exceeds :math:`d + 2\sqrt{d x} + 2 x` with a chance
        below :math:`e^{-x}`. So the best order may be chosen afterwards, and many groupings be looked at.
        """
        rows = np.bincount(self.codes)
        rows, positives = rows[rows > 0], np.bincount(self.codes[hidden], minlength=rows.size)[rows > 0]
        total = int(positives.sum())
        pairs, freedom = total * (hidden.size - total), rows.size - 1
        if not pairs or not freedom:
            return None
        order = np.argsort(positives / rows, kind="stable")
        above, negatives = np.cumsum((rows - positives)[order]), (rows - positives)[order]
        twice = int(np.dot(positives[order], 2 * above - negatives))
        auc, error = twice / (2 * pairs), _error(hidden.size, pairs)
        bound = freedom + 2 * math.sqrt(freedom * GROUPS_DOUBT) + 2 * GROUPS_DOUBT
        return Leak(auc, error * math.sqrt(freedom), _verdict(auc - 0.5, math.sqrt(bound) * error))


def _error(rows: int, pairs: int) -> float:
    return math.sqrt((rows + 1) / (12 * pairs))


def _verdict(distance: float, doubt: float) -> Verdict:
    """Judge how far an AUC is from 1/2, of which chance alone may make up `doubt`."""
    if distance - doubt > TOLERANCE:
        return Verdict.LEAK
    if distance > max(NOTEWORTHY, doubt):
        return Verdict.NOTEWORTHY
    return Verdict.CLEAN

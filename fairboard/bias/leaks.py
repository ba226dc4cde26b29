"""Label leaks through row order or ids, measured as AUCs.

An order leaks the labels if positive rows tend to appear first or last. Groups, such as the last digit of an
id, leak the labels if the share of positive rows differs between groups. A test of the order alone can miss
such a leak: `id % 2` does not increase with the id.
"""

import enum
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairboard.bias.prepared import BoolArray

TOLERANCE = 0.05
NOTEWORTHY = 0.02
CERTAINTY = 4.0
# The probability of a false alarm for one grouping is below exp(-GROUPS_DOUBT), about 2e-9. Hundreds of
# groupings can therefore be tested.
GROUPS_DOUBT = 20.0


class Verdict(enum.StrEnum):
    """The verdict on the AUC of a visible value: no leak, worth a review, or a leak of the labels."""

    CLEAN = "clean"
    NOTEWORTHY = "noteworthy"
    LEAK = "leak"


def by_chance(standard_error: float) -> str:
    """Describe the range of AUCs expected by chance, within two standard errors.

    Parameters
    ----------
    standard_error : float
        Standard error of the AUC of an uninformative value.

    Returns
    -------
    str
        The range, such as ``0.5 ± 0.041``. If it exceeds [0, 1], a note that there are too few rows.
    """
    within = 2 * standard_error
    return f"0.5 ± {within:.3f}" if within < 0.5 else "any AUC, because there are too few rows"


@dataclass(frozen=True, slots=True)
class Leak:
    """A measure of how well a visible value predicts a hidden value.

    Attributes
    ----------
    auc : float
    standard_error : float
        Standard error of the AUC of an uninformative value.
    verdict : Verdict
    """

    auc: float
    standard_error: float
    verdict: Verdict


@dataclass(frozen=True, eq=False)
class VisibleOrder:
    """The order of a publicly visible value, ranked once for all leak tests.

    Attributes
    ----------
    midranks : array of int64, shape (n,)
        Doubled midranks: for each row, the number of rows below it plus the number of rows not above it.
    """

    midranks: NDArray[np.int64]

    @classmethod
    def of(cls, values: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint64]) -> "VisibleOrder":
        """Rank finite values of shape (n,); only their order matters."""
        _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        return cls((2 * ends - counts)[places].astype(np.int64))

    def leak(self, hidden: BoolArray) -> Leak | None:
        r"""Return how well the order predicts hidden labels.

        Parameters
        ----------
        hidden : array of bool, shape (n,)
            The hidden labels.

        Returns
        -------
        Leak or None
            The leak; None if `hidden` has only one class.

        Notes
        -----
        An uninformative value has an AUC of 1/2 with the standard error :math:`\sqrt{(n_1 + n_0 + 1) / (12\,
        n_1 n_0)}`. The verdict is a leak if the AUC is more than 0.05 plus four standard errors away from
        1/2. It is noteworthy if the AUC is more than four standard errors and more than 0.02 away from 1/2.
        These margins avoid false alarms if cells are small or comparisons numerous.
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
    """Groups of rows that can be formed from publicly visible values.

    Attributes
    ----------
    codes : array of uint8, shape (n,)
        The group number of each row.
    """

    codes: NDArray[np.uint8]

    def leak(self, hidden: BoolArray) -> Leak | None:
        r"""Return how well the groups predict hidden labels.

        Parameters
        ----------
        hidden : array of bool, shape (n,)
            The hidden labels.

        Returns
        -------
        Leak or None
            The AUC of the order of the k groups by their share of positive rows, which is never below 1/2.
            The standard error is that of an order (see `VisibleOrder.leak`), times :math:`\sqrt{k - 1}`.
            None if `hidden` has only one class or all rows are in one group.

        Notes
        -----
        The AUC of *any* order of k groups is at most :math:`\sqrt{\chi^2}` standard errors of an order away
        from 1/2, where :math:`\chi^2` is the statistic of the k x 2 table with :math:`d = k - 1` degrees of
        freedom. By lemma 1 of Laurent and Massart (2000), it exceeds :math:`d + 2\sqrt{d x} + 2 x` with a
        probability below :math:`e^{-x}`. Therefore, the bound holds even if the best order is chosen
        afterwards, and many groupings can be tested.
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
    """Return the verdict for an AUC at a distance from 1/2, with a margin of `doubt` for chance."""
    if distance - doubt > TOLERANCE:
        return Verdict.LEAK
    if distance > max(NOTEWORTHY, doubt):
        return Verdict.NOTEWORTHY
    return Verdict.CLEAN

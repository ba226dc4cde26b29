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
    """Describe the AUCs expected by chance, within two standard errors, such as ``0.5 ± 0.041``."""
    within = 2 * standard_error
    return f"0.5 ± {within:.3f}" if within < 0.5 else "any AUC, because there are too few rows"


@dataclass(frozen=True, slots=True)
class Leak:
    """A measure of how well a visible value predicts a hidden value.

    `standard_error` is that of the AUC of an uninformative value.
    """

    auc: float
    standard_error: float
    verdict: Verdict

    @classmethod
    def of(cls, auc: float, standard_error: float, doubt: float) -> "Leak":
        """Return the leak with its verdict; `doubt` is the margin for random deviations.

        The verdict is a leak if the AUC is more than 0.05 plus the margin away from 1/2. It is noteworthy if
        the AUC is more than the margin and more than 0.02 away from 1/2. These limits avoid false alarms if
        cells are small or comparisons numerous.
        """
        distance, verdict = abs(auc - 0.5), Verdict.CLEAN
        if distance - doubt > TOLERANCE:
            verdict = Verdict.LEAK
        elif distance > max(NOTEWORTHY, doubt):
            verdict = Verdict.NOTEWORTHY
        return cls(auc, standard_error, verdict)


@dataclass(frozen=True, eq=False)
class VisibleOrder:
    """The order of a publicly visible value, ranked once for all leak tests.

    `midranks` are doubled: for each row, the number of rows below it plus the number of rows not above it.
    """

    midranks: NDArray[np.int64]

    @classmethod
    def of(cls, values: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint64]) -> "VisibleOrder":
        """Rank finite values of shape (n,); only their order matters."""
        _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        return cls((2 * ends - counts)[places].astype(np.int64))

    def leak(self, hidden: BoolArray) -> Leak | None:
        r"""Return how well the order predicts hidden labels; None if `hidden` has only one class.

        An uninformative value has an AUC of 1/2 with the standard error :math:`\sqrt{(n_1 + n_0 + 1) / (12\,
        n_1 n_0)}`; the margin for chance is four of them.
        """
        positives = int(np.count_nonzero(hidden))
        pairs = positives * (hidden.size - positives)
        if not pairs:
            return None
        auc = (int(self.midranks[hidden].sum()) - positives**2) / (2 * pairs)
        error = math.sqrt((hidden.size + 1) / (12 * pairs))
        return Leak.of(auc, error, CERTAINTY * error)


@dataclass(frozen=True, eq=False)
class VisibleGroups:
    """Groups of rows that can be formed from publicly visible values, as the group number of each row."""

    codes: NDArray[np.uint8]

    def leak(self, hidden: BoolArray) -> Leak | None:
        r"""Return how well the groups predict hidden labels; None for one class or one group.

        The AUC is that of the order of the k groups by their share of positive rows, which is never below
        1/2. The standard error is that of an order, times :math:`\sqrt{k - 1}`.

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
        total, freedom = int(positives.sum()), rows.size - 1
        pairs = total * (hidden.size - total)
        if not pairs or not freedom:
            return None
        order = np.argsort(positives / rows, kind="stable")
        above, negatives = np.cumsum((rows - positives)[order]), (rows - positives)[order]
        twice = int(np.dot(positives[order], 2 * above - negatives))
        error = math.sqrt((hidden.size + 1) / (12 * pairs))
        bound = freedom + 2 * math.sqrt(freedom * GROUPS_DOUBT) + 2 * GROUPS_DOUBT
        return Leak.of(twice / (2 * pairs), error * math.sqrt(freedom), math.sqrt(bound) * error)

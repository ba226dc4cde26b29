"""Does something that everybody sees order the hidden truth? The AUC of row number, id or hash against it."""

import enum
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.metrics.prepared import BoolArray

TOLERANCE = 0.05
NOTEWORTHY = 0.02
CERTAINTY = 4.0


class Verdict(enum.StrEnum):
    """What an AUC says: nothing, something to look at, or that the truth is given away."""

    CLEAN = "clean"
    NOTEWORTHY = "noteworthy"
    LEAK = "leak"


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
        r"""Return how well the order tells a hidden truth.

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
        error = math.sqrt((hidden.size + 1) / (12 * pairs))
        return Leak(auc, error, _verdict(abs(auc - 0.5), error))


def _verdict(distance: float, error: float) -> Verdict:
    if distance - CERTAINTY * error > TOLERANCE:
        return Verdict.LEAK
    if distance > max(NOTEWORTHY, CERTAINTY * error):
        return Verdict.NOTEWORTHY
    return Verdict.CLEAN

"""Label leaks through row order or ids, measured as AUCs.

An order leaks the labels if positive rows tend to appear first or last. Groups, such as the last digit of an
id, leak the labels if the share of positive rows differs between groups. A test of the order alone can miss
such a leak: `id % 2` does not increase with the id.
"""

import enum
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairboard.bias.prepared import BoolArray
from fairboard.bias.reports import bias_report

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


class Leak(NamedTuple):
    """How well a visible value predicts a hidden one; `chance` describes the AUCs expected by chance."""

    auc: float
    chance: str
    verdict: Verdict


def _leak(auc: float, standard_error: float, doubt: float) -> Leak:
    """Return the leak, given the standard error of the AUC of an uninformative value.

    The verdict is a leak if the AUC is more than 0.05 plus `doubt`, the margin for random deviations, away
    from 1/2. It is noteworthy if the AUC is more than the margin and more than 0.02 away from 1/2. These
    limits avoid false alarms if cells are small or comparisons numerous.
    """
    distance, within, verdict = abs(auc - 0.5), 2 * standard_error, Verdict.CLEAN
    if distance - doubt > TOLERANCE:
        verdict = Verdict.LEAK
    elif distance > max(NOTEWORTHY, doubt):
        verdict = Verdict.NOTEWORTHY
    chance = f"0.5 ± {within:.3f}" if within < 0.5 else "any AUC, because there are too few rows"
    return Leak(auc, chance, verdict)


def order_leak(values: ArrayLike, hidden: BoolArray) -> Leak | None:
    r"""Return how well the order of public values predicts hidden labels; None if all labels are equal.

    An uninformative value has an AUC of 1/2 with the standard error :math:`\sqrt{(n_1 + n_0 + 1) / (12\,
    n_1 n_0)}`; the margin for chance is four of them.
    """
    ranks = np.unique(values, return_inverse=True)[1]  # float64 cannot tell long ids apart
    auc, error = bias_report(hidden, ranks, {}).overall_auc, _standard_error(hidden)
    return None if auc is None else _leak(auc, error, CERTAINTY * error)


def group_leak(groups: NDArray[np.integer[Any]], hidden: BoolArray) -> Leak | None:
    r"""Return how well groups of rows predict hidden labels; None if all labels or all groups are equal.

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
    rows = np.bincount(groups)
    shares = np.bincount(groups[hidden], minlength=rows.size) / np.maximum(rows, 1)
    freedom, error = np.count_nonzero(rows) - 1, _standard_error(hidden)
    auc = bias_report(hidden, shares[groups], {}).overall_auc
    if auc is None or not freedom:
        return None
    bound = freedom + 2 * math.sqrt(freedom * GROUPS_DOUBT) + 2 * GROUPS_DOUBT
    return _leak(auc, error * math.sqrt(freedom), math.sqrt(bound) * error)


def _standard_error(hidden: BoolArray) -> float:
    positives = int(np.count_nonzero(hidden))
    return math.sqrt((hidden.size + 1) / (12 * positives * (hidden.size - positives) or math.inf))

"""Expected standard error of a score, estimated only from a solution's counts.

The rows of a split are a sample, and a model would have a different score on another sample of the same size.
The expected size of this difference depends on the counts of each cell, which the solution determines, and on
the AUC, which is assumed.

References
----------
J. A. Hanley and B. J. McNeil, The meaning and use of the area under a receiver operating characteristic (ROC)
curve, Radiology 143 (1982): the variance of one AUC from its counts.
E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, Biometrics 44 (1988): an AUC as a sum over rows. The sum
of several AUCs is therefore also a sum over rows.
"""

import math

import numpy as np

from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.prepared import PreparedSplit

ASSUMED_AUC = 0.9
ASSUMED_CORRELATION = 0.8


def score_standard_error(
    split: PreparedSplit, settings: MetricSettings, auc: float = ASSUMED_AUC
) -> float | None:
    r"""Return the standard error of the score if all AUCs are equal; None if a cell is undefined.

    Notes
    -----
    If all AUCs are equal, every power mean has the same derivatives as the arithmetic mean of its N AUCs, for
    any power. To first order, the score is therefore a weighted sum of AUCs, and each AUC is a sum over its
    rows. A positive row i contributes :math:`k_i (V_i - A)` to the score, with
    :math:`k_i = \sum_t w_t / n_{1t}` over the cells t whose positive rows include it. The contribution of a
    negative row is analogous. The variance is the sum of the squares of k, times the variance of V, which is
    Hanley and McNeil's :math:`Q - A^2`. Overlaps between identities are therefore taken into account. The
    part of the variance that decreases with the product of both counts is neglected.
    """
    scored = [rows for rows, is_in_score in zip(split.members, split.in_score, strict=True) if is_in_score]
    labels, weights, wanted = split.labels, np.zeros(split.rows), settings.weights
    cells = [(np.ones(split.rows, np.bool_), wanted.overall_auc)]
    for rows in scored:
        member = np.zeros(split.rows, np.bool_)
        member[rows] = True
        share = 1 / len(scored)
        cells.append((member, share * wanted.subgroup_auc))
        cells.append((member ^ labels, share * wanted.bpsn_auc))
        cells.append((member == labels, share * wanted.bnsp_auc))
    for cell, weight in cells:
        positives, negatives = np.count_nonzero(cell & labels), np.count_nonzero(cell & ~labels)
        if not scored or not positives or not negatives:
            return None
        weights[cell] += np.where(labels[cell], weight / positives, weight / negatives)
    of_positives, of_negatives = 2 * auc * auc / (1 + auc) - auc * auc, auc / (2 - auc) - auc * auc
    variance = of_positives * float(weights[labels] @ weights[labels])
    return math.sqrt(variance + of_negatives * float(weights[~labels] @ weights[~labels]))


def paired_standard_error(standard_error: float) -> float:
    r"""Return the standard error of the difference between two typical scores on the same rows.

    It is :math:`SE \sqrt{2 (1-\rho)}` with an assumed correlation of 0.8.
    """
    return standard_error * math.sqrt(2 * (1 - ASSUMED_CORRELATION))

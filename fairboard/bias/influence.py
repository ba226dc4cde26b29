"""Standard errors of the bias score: influences of rows, and the error expected of a difference."""

import math
from collections.abc import Iterator

import numpy as np

from fairboard.bias.counts import hanley_mcneil
from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.prepared import FloatArray, IndexArray, PreparedSplit
from fairboard.bias.reports import BiasReport
from fairboard.bias.subgroups import BIAS_AUCS
from fairboard.ranks import RankArray

ASSUMED_AUC = 0.9
ASSUMED_CORRELATION = 0.8


def influences(
    split: PreparedSplit, ranks: RankArray, values: BiasReport, settings: MetricSettings
) -> dict[str, FloatArray]:
    """Return the influences of the rows on the score (`score`) and on its terms.

    The influence of a row on an AUC is the share of the rows of the other class that it beats, or to which it
    loses, minus the AUC, divided by the number of rows of its class (DeLong et al., 1988). The derivatives of
    the power means propagate it to the terms and to the score. A term is missing if it is undefined, has no
    derivative, or compares a set of fewer than 2 rows. The score is missing if a term with a nonzero weight
    is.
    """
    known = {term: _slopes(values, term, settings) for term in BIAS_AUCS}
    known["overall_auc"] = {} if values.overall_auc is None else {"": (values.overall_auc, 1.0)}
    by_name = dict[str, FloatArray]()
    for term, name, positive, negative in _compared(split):
        if name in known[term]:
            total = by_name.setdefault(term, np.zeros(split.rows))
            _add(total, ranks, positive, negative, *known[term][name])
    # The share of a single row has no variance.
    by_name = {term: total for term, total in by_name.items() if not np.isnan(total).any()}
    weights = {name: weight for name, weight in settings.weights.as_dict().items() if weight}
    if weights.keys() <= by_name.keys():
        scaled = (weight / sum(weights.values()) * by_name[name] for name, weight in weights.items())
        by_name["score"] = np.sum([*scaled], axis=0)
    return by_name


def _compared(split: PreparedSplit) -> Iterator[tuple[str, str, IndexArray, IndexArray]]:
    """Yield the term, the identity, and the positive and negative rows of each AUC; the overall AUC first."""
    classes = split.labels, ~split.labels
    yield "overall_auc", "", np.flatnonzero(split.labels), np.flatnonzero(~split.labels)
    for name, members in zip(split.names, split.members, strict=True):
        inside = np.zeros(split.rows, np.bool_)
        inside[members] = True
        (in1, in0), (out1, out0) = (
            [np.flatnonzero(rows & each) for each in classes] for rows in (inside, ~inside)
        )
        yield "subgroup_auc", name, in1, in0
        yield "bpsn_auc", name, out1, in0
        yield "bnsp_auc", name, in1, out0


def _add(
    total: FloatArray, ranks: RankArray, positive: IndexArray, negative: IndexArray, auc: float, slope: float
) -> None:
    """Add the influences on an AUC, times a slope; NaN if a set has fewer than 2 rows."""
    if min(positive.size, negative.size) < 2:
        total[:] = np.nan
        return
    at = [np.bincount(ranks[rows], minlength=int(ranks.max()) + 1) for rows in (positive, negative)]
    positives_below, negatives_below = (np.cumsum(each) - each / 2 for each in at)
    n1, n0 = positive.size, negative.size
    beaten, lost = negatives_below[ranks[positive]] / n0, 1 - positives_below[ranks[negative]] / n1
    total[positive] += slope / math.sqrt(n1 * (n1 - 1)) * (beaten - auc)
    total[negative] += slope / math.sqrt(n0 * (n0 - 1)) * (lost - auc)


def _slopes(values: BiasReport, term: str, settings: MetricSettings) -> dict[str, tuple[float, float]]:
    """Return AUCs with the derivatives of their power mean by identity; empty if it has none."""
    aucs = {line.name: getattr(line, term) for line in values.subgroups if line.in_score}
    defined = {name: auc for name, auc in aucs.items() if auc is not None}
    mean = values.power_means[term]
    if mean is None or not defined or min(defined.values()) <= 0:
        return {}
    if math.isinf(settings.power):
        extremes = [name for name, auc in defined.items() if auc == mean]
        return {extremes[0]: (mean, 1.0)} if len(extremes) == 1 else {}
    return {name: (auc, (mean / auc) ** (1 - settings.power) / len(defined)) for name, auc in defined.items()}


def paired_standard_error(split: PreparedSplit, settings: MetricSettings) -> float | None:
    r"""Return the error of the difference between two typical scores; None if a cell is undefined.

    Notes
    -----
    All AUCs are assumed to be A = 0.9, and the two scores to have the correlation :math:`\rho = 0.8`, so that
    their difference has :math:`\sqrt{2 (1-\rho)}` times the error of one score.

    If all AUCs are equal, every power mean has the same derivatives as the arithmetic mean of its N AUCs, for
    any power. To first order, the score is therefore a weighted sum of AUCs, and each AUC is a sum over its
    rows. A positive row i contributes :math:`k_i (V_i - A)` to the score, with
    :math:`k_i = \sum_t w_t / n_{1t}` over the cells t whose positive rows include it. The contribution of a
    negative row is analogous. The variance is the sum of the squares of k, times the variance of V, which is
    Hanley and McNeil's :math:`Q - A^2`. Overlaps between identities are therefore taken into account. The
    part of the variance that decreases with the product of both counts is neglected.

    References
    ----------
    J. A. Hanley and B. J. McNeil, The meaning and use of the area under a receiver operating characteristic
    (ROC) curve, Radiology 143 (1982): the variance of one AUC from its counts.
    """
    scored = [name for name, is_in_score in zip(split.names, split.in_score, strict=True) if is_in_score]
    labels, weights, wanted = split.labels, np.zeros(split.rows), settings.weights.as_dict()
    if not scored:
        return None
    for term, name, positive, negative in _compared(split):
        if term == "overall_auc" or name in scored:
            if not positive.size or not negative.size:
                return None
            weight = wanted[term] / (1 if term == "overall_auc" else len(scored))
            for rows in (positive, negative):
                weights[rows] += weight / rows.size
    of_positives, of_negatives = hanley_mcneil(ASSUMED_AUC)
    variance = of_positives * float(weights[labels] @ weights[labels])
    variance += of_negatives * float(weights[~labels] @ weights[~labels])
    return math.sqrt(variance * 2 * (1 - ASSUMED_CORRELATION))

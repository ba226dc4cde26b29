"""Standard errors of the bias score: influences of rows, and the error expected of a difference."""

import math
from collections.abc import Mapping

import numpy as np

from fairboard.bias.counts import hanley_mcneil
from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.prepared import BoolArray, FloatArray, IndexArray, PreparedSplit
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
    by_name = dict[str, FloatArray]()
    for name, parts in _parts(split, values, settings).items():
        total = np.zeros(split.rows)
        if parts and all(_add(total, ranks, *part) for part in parts):
            by_name[name] = total
    weights = {name: weight for name, weight in settings.weights.as_dict().items() if weight}
    if weights.keys() <= by_name.keys():
        scaled = (weight / sum(weights.values()) * by_name[name] for name, weight in weights.items())
        by_name["score"] = np.sum([*scaled], axis=0)
    return by_name


Part = tuple[IndexArray, IndexArray, float, float]  # positive and negative rows, their AUC, its derivative


def _parts(split: PreparedSplit, values: BiasReport, settings: MetricSettings) -> dict[str, list[Part]]:
    """Return the comparisons behind each term."""
    parts: dict[str, list[Part]] = {name: [] for name in ("overall_auc", *BIAS_AUCS)}
    if values.overall_auc is not None:
        parts["overall_auc"].append((*_classes(split, np.True_), values.overall_auc, 1.0))
    slopes = {term: _slopes(values, term, settings) for term in BIAS_AUCS}
    for members, line in zip(split.members, values.subgroups, strict=True):
        inside = np.zeros(split.rows, np.bool_)
        inside[members] = True
        (in1, in0), (out1, out0) = _classes(split, inside), _classes(split, ~inside)
        compared = {"subgroup_auc": (in1, in0), "bpsn_auc": (out1, in0), "bnsp_auc": (in1, out0)}
        for term in BIAS_AUCS:
            if line.name in slopes[term]:
                parts[term].append((*compared[term], getattr(line, term), slopes[term][line.name]))
    return parts


def _classes(split: PreparedSplit, rows: BoolArray | np.bool_) -> tuple[IndexArray, IndexArray]:
    return np.flatnonzero(split.labels & rows), np.flatnonzero(~split.labels & rows)


def _add(
    total: FloatArray, ranks: RankArray, positive: IndexArray, negative: IndexArray, auc: float, slope: float
) -> bool:
    """Add the influences on an AUC, times a slope; return False if a set has fewer than 2 rows."""
    if min(positive.size, negative.size) < 2:
        return False
    at = [np.bincount(ranks[rows], minlength=int(ranks.max()) + 1) for rows in (positive, negative)]
    positives_below, negatives_below = (np.cumsum(each) - each / 2 for each in at)
    n1, n0 = positive.size, negative.size
    beaten, lost = negatives_below[ranks[positive]] / n0, 1 - positives_below[ranks[negative]] / n1
    total[positive] += slope / math.sqrt(n1 * (n1 - 1)) * (beaten - auc)
    total[negative] += slope / math.sqrt(n0 * (n0 - 1)) * (lost - auc)
    return True


def _slopes(values: BiasReport, term: str, settings: MetricSettings) -> Mapping[str, float]:
    """Return the derivatives of a power mean by identity; empty if the mean is not differentiable."""
    aucs = {line.name: getattr(line, term) for line in values.subgroups if line.in_score}
    defined = {name: auc for name, auc in aucs.items() if auc is not None}
    mean = values.power_means[term]
    if mean is None or not defined or min(defined.values()) <= 0:
        return {}
    if math.isinf(settings.power):
        extremes = [name for name, auc in defined.items() if auc == mean]
        return {name: float(name == extremes[0]) for name in defined} if len(extremes) == 1 else {}
    return {name: (mean / auc) ** (1 - settings.power) / len(defined) for name, auc in defined.items()}


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
    scored = [rows for rows, is_in_score in zip(split.members, split.in_score, strict=True) if is_in_score]
    labels, weights, wanted = split.labels, np.zeros(split.rows), settings.weights.as_dict()
    cells = [(np.ones(split.rows, np.bool_), wanted["overall_auc"])]
    for rows in scored:
        member = np.zeros(split.rows, np.bool_)
        member[rows] = True
        compared = {"subgroup_auc": member, "bpsn_auc": member ^ labels, "bnsp_auc": member == labels}
        cells += [(cell, wanted[term] / len(scored)) for term, cell in compared.items()]
    for cell, weight in cells:
        positives, negatives = np.count_nonzero(cell & labels), np.count_nonzero(cell & ~labels)
        if not scored or not positives or not negatives:
            return None
        weights[cell] += np.where(labels[cell], weight / positives, weight / negatives)
    of_positives, of_negatives = hanley_mcneil(ASSUMED_AUC)
    variance = of_positives * float(weights[labels] @ weights[labels])
    variance += of_negatives * float(weights[~labels] @ weights[~labels])
    return math.sqrt(variance * 2 * (1 - ASSUMED_CORRELATION))

"""Row influences on the bias score and its terms."""

import math
from collections.abc import Mapping

import numpy as np

from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.prepared import BoolArray, FloatArray, IndexArray, PreparedSplit
from fairboard.bias.reports import BiasReport
from fairboard.bias.subgroups import BIAS_AUCS, BiasAuc
from fairboard.ranks import RankArray


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
    found = dict[str, FloatArray]()
    for name, parts in _parts(split, values, settings).items():
        total = np.zeros(split.rows)
        if parts and all(_add(total, ranks, *part) for part in parts):
            found[name] = total
    weights = {name: weight for name, weight in settings.weights.as_dict().items() if weight}
    if weights.keys() <= found.keys():
        scaled = (weight / sum(weights.values()) * found[name] for name, weight in weights.items())
        found["score"] = np.sum([*scaled], axis=0)
    return found


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


def _slopes(values: BiasReport, term: BiasAuc, settings: MetricSettings) -> Mapping[str, float]:
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

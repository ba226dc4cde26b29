"""Exact pair counts of weighted rows: each pair counts the product of its rows' weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.metrics.bias.counts import IdentityCounts, PairCounts
from grader.metrics.bias.prepared import BoolArray, FloatArray, PreparedSplit
from grader.metrics.ranks import dense_ranks

Integers = NDArray[np.object_]  # Python integers, which do not overflow


def count_weighted(split: PreparedSplit, y_score: FloatArray, sample_weight: FloatArray) -> PairCounts:
    """Count the ordered pairs of a submission like `count_pairs`, with weights.

    In the counts, numbers of rows are sums of weights, in units of a power of 2. All are integers. The AUCs
    are therefore exact, and equal weights give the same AUCs as no weights.
    """
    weights, ranks = _integers(sample_weight), dense_ranks(y_score).astype(np.int64)
    positives, negatives = (weights[split.labels == label].sum() for label in (True, False))
    over_positives, over_negatives = (
        _doubled_placements(weights, split.labels == label, ranks) for label in (True, False)
    )
    identities = []
    for name, in_score, rows in zip(split.names, split.in_score, split.members, strict=True):
        own, is_positive = weights[rows], split.labels[rows]
        one, zero = own[is_positive], own[~is_positive]
        among_positives, among_negatives = over_positives[rows], over_negatives[rows]
        within = _doubled_placements(own, ~is_positive, ranks[rows])
        n1, n0 = one.sum(), zero.sum()
        subgroup = (one * within[is_positive]).sum()
        identities.append(
            IdentityCounts(
                name,
                in_score,
                n1,
                n0,
                subgroup,
                2 * positives * n0 - (zero * among_positives[~is_positive]).sum() - subgroup,
                (one * among_negatives[is_positive]).sum() - subgroup,
                2 * positives * n1 - (one * among_positives[is_positive]).sum() - n1**2,
                2 * negatives * n0 - (zero * among_negatives[~is_positive]).sum() - n0**2,
            )
        )
    overall = (weights * over_negatives)[split.labels].sum()
    return PairCounts(positives + negatives, positives, overall, tuple(identities))


def _integers(weights: FloatArray) -> Integers:
    """Return the weights in units of a power of 2 that divides all their float64 values."""
    mantissas, exponents = np.frexp(weights)
    shifts = exponents - exponents.min(initial=0)
    integers: Integers = np.ldexp(mantissas, 53).astype(np.int64).astype(object) << shifts.astype(object)
    return integers


def _doubled_placements(weights: Integers, is_other: BoolArray, ranks: NDArray[Any]) -> Integers:
    """Return, for each row, twice the weight of the other rows below it plus that of those at its rank."""
    places = np.unique(ranks, return_inverse=True)[1]
    at = np.zeros(places.max(initial=-1) + 1, object)
    np.add.at(at, places[is_other], weights[is_other])
    up_to = np.cumsum(at)
    placements: Integers = (2 * up_to - at)[places]
    return placements

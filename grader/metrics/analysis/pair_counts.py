"""Pair counts of every AUC and AEG for any background."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.metrics.analysis.rows import Rows
from grader.metrics.auc import Comparison
from grader.metrics.counting import count_pairs
from grader.metrics.counts import IdentityCounts, PairCounts
from grader.metrics.prepared import BoolArray, PreparedSplit
from grader.metrics.subgroups import Cell, comparisons, overall_comparison


@dataclass(frozen=True, slots=True)
class Counted:
    """The comparisons of some rows.

    Attributes
    ----------
    overall : Comparison
        All positive against all negative rows; the background does not matter to it.
    cells : mapping of str to mapping of Cell to Comparison
        For each identity, the five comparisons by name.
    backgrounds : mapping of str to Comparison
        For each identity, positive against negative rows of its background.
    """

    overall: Comparison
    cells: Mapping[str, Mapping[Cell, Comparison]]
    backgrounds: Mapping[str, Comparison]


def count(rows: Rows, kept: BoolArray | None = None) -> Counted:
    """Count the pairs of all comparisons, as exact integers.

    Parameters
    ----------
    rows : Rows
        Identities with the same blanks are counted together, in one sort.
    kept : ndarray of bool, shape (rows.size,), optional
        Count these rows alone, as `rows.where(kept)` would be counted.

    Returns
    -------
    Counted
        The same integers in any order of the rows.
    """
    everything = np.ones(rows.size, np.bool_) if kept is None else kept
    cells: dict[str, Mapping[Cell, Comparison]] = {}
    backgrounds: dict[str, Comparison] = {}
    overall = None
    for names, considered in rows.considered_together():
        counts = _count(rows, names, considered & everything)
        if counts.rows == np.count_nonzero(everything):
            overall = overall_comparison(counts)
        for identity in counts.identities:
            cells[identity.name] = comparisons(counts, identity)
            backgrounds[identity.name] = _background(counts, identity)
    return Counted(
        overall or overall_comparison(_count(rows, (), everything)),
        {name: cells[name] for name in rows.names},
        {name: backgrounds[name] for name in rows.names},
    )


def _background(counts: PairCounts, identity: IdentityCounts) -> Comparison:
    """Return what remains of the overall pairs without those of the subgroup."""
    return Comparison(
        counts.overall_wins - identity.subgroup_wins - identity.bpsn_wins - identity.bnsp_wins,
        counts.positives - identity.positives,
        counts.negatives - identity.negatives,
    )


def _count(rows: Rows, names: Sequence[str], kept: BoolArray) -> PairCounts:
    """Count the pairs of some identities on some rows, among which are all that matter to them."""
    places = np.cumsum(kept) - 1
    split = PreparedSplit(
        labels=rows.positive[kept],
        names=tuple(names),
        in_score=(True,) * len(names),
        members=tuple(places[np.flatnonzero(rows.members[name] & kept)] for name in names),
    )
    return count_pairs(split, rows.predictions[kept])

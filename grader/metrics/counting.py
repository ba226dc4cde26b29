"""Counting pairs: predictions in, exact integers out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.metrics.counts import IdentityCounts, PairCounts
from grader.metrics.ordering import Ordering, order
from grader.metrics.prepared import (
    FloatArray,
    IndexArray,
    KeyArray,
    MentionLayout,
    PreparedSplit,
    as_vector,
    refuse_where,
)

RankArray = NDArray[np.uint32]


def count_pairs(split: PreparedSplit, y_score: ArrayLike) -> PairCounts:
    """Count the ordered pairs behind every AUC and AEG of a submission.

    Parameters
    ----------
    split : PreparedSplit
        The labels and identities, from `prepare`.
    y_score : array_like, shape (split.rows,)
        One finite number per row, in the order of the split; higher means more likely positive.
        Compared as float64, never thresholded.

    Returns
    -------
    PairCounts
        The same integers in any order of the rows.

    Raises
    ------
    ValueError
        If `y_score` has another length, or a value is not a finite number.

    Notes
    -----
    The doubled midrank of a row is the number of rows below it plus the number of rows not above
    it. Summed over the positive rows it gives the Mann-Whitney U statistic, ties counting one
    half. The background of an identity is never ranked: it is everything minus the subgroup.
    """
    predictions = as_predictions(split, y_score)
    layout = split.layout
    ranks = _rank(order(predictions, layout.row_codes))
    by_row = np.empty_like(ranks.overall)
    by_row[ranks.rows] = ranks.overall
    overall = int(by_row[layout.positive_rows].sum(dtype=np.int64)) - split.positives**2
    return PairCounts(
        rows=split.rows,
        positives=split.positives,
        overall_wins=overall,
        identities=_count_identities(split, by_row[layout.rows], ranks.among_positives),
    )


def as_predictions(split: PreparedSplit, y_score: ArrayLike) -> FloatArray:
    """Return the predictions as float64, one finite number for each row of the split.

    Raises
    ------
    ValueError
        If the length differs, or a value is not a finite number.
    """
    predictions = as_vector("y_score", y_score, rows=split.rows)
    finite = np.isfinite(predictions)
    if not finite.all():
        refuse_where(~finite, "y_score", "finite")
    return predictions


@dataclass(frozen=True, eq=False, slots=True)
class _Ranks:
    """Doubled midranks by position in the order: among all rows, and among the positive rows."""

    rows: IndexArray
    overall: RankArray
    among_positives: RankArray


def _rank(ordering: Ordering) -> _Ranks:
    codes = ordering.codes
    positive = codes.astype(np.uint32)
    positive &= np.uint32(1)
    not_above = np.cumsum(positive, dtype=np.uint32)
    overall = np.arange(1, 2 * codes.size, 2, dtype=np.uint32)
    among_positives = 2 * not_above - positive
    if ordering.tied.size:
        starts, ends = _runs(ordering.tied)
        lengths = ends - starts
        tied = np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        below = not_above[starts] - positive[starts]
        overall[tied] = np.repeat(starts + ends, lengths)
        among_positives[tied] = np.repeat(below + not_above[ends - 1], lengths)
    return _Ranks(codes >> 1, overall, among_positives)


def _runs(tied: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return where each run of equal predictions starts and ends (exclusive)."""
    breaks = np.diff(tied) > 1
    return tied[np.r_[True, breaks]], tied[np.r_[breaks, True]] + 2


def _count_identities(
    split: PreparedSplit, midranks: RankArray, among_positives: RankArray
) -> tuple[IdentityCounts, ...]:
    """Count the pairs of every identity from the doubled midranks of its mentions."""
    layout = split.layout
    sizes = layout.sizes.reshape(-1, 2)
    ranks = _block_sums(midranks, layout.sizes).reshape(-1, 2)
    # A run of ties has the same value throughout, so the middle of the run stands for all of it.
    over_positives = _block_sums(among_positives[midranks >> 1], layout.sizes).reshape(-1, 2)
    within = _count_within(layout, midranks)
    counts = []
    for g, (name, in_score) in enumerate(zip(split.names, split.in_score, strict=True)):
        (n1, n0), (rank1, rank0) = sizes[g].tolist(), ranks[g].tolist()
        (over1, over0), subgroup = over_positives[g].tolist(), int(within[g])
        counts.append(
            IdentityCounts(
                name=name,
                in_score=in_score,
                positives=n1,
                negatives=n0,
                subgroup_wins=subgroup,
                bpsn_wins=2 * split.positives * n0 - over0 - subgroup,
                bnsp_wins=rank1 - over1 - subgroup,
                positive_background_wins=2 * split.positives * n1 - over1 - n1**2,
                negative_background_wins=2 * split.negatives * n0 - (rank0 - over0) - n0**2,
            )
        )
    return tuple(counts)


def _count_within(layout: MentionLayout, midranks: RankArray) -> IndexArray:
    """Count positive over negative rows inside each identity, by one sort of all mentions."""
    keys = midranks.astype(layout.keys.dtype)
    keys <<= 1
    keys |= layout.keys
    keys.sort()
    # Sorted, each identity is a segment. Among equal midranks the negatives come first, so the
    # rank of a positive row counts every tie as a win.
    n1, n0 = layout.sizes[::2], layout.sizes[1::2]
    segment_starts = np.cumsum(n1 + n0) - (n1 + n0)
    places = np.flatnonzero(keys & 1)
    place_sums = _block_sums(places, n1)
    wins_and_ties = place_sums - segment_starts * n1 - n1 * (n1 - 1) // 2
    doubled: IndexArray = 2 * wins_and_ties - _count_ties(layout, keys)
    return doubled


def _count_ties(layout: MentionLayout, keys: KeyArray) -> IndexArray:
    """Count the pairs of a positive and a negative row with equal midranks in each identity."""
    ties = np.zeros(layout.sizes.size // 2, dtype=np.int64)
    # Where a key is followed by itself plus the label bit, a run of both classes turns positive.
    turns = np.flatnonzero((keys[1:] ^ keys[:-1]) == 1)
    if turns.size:
        negative = keys[turns]
        positive = keys[turns + 1]
        n0 = turns + 1 - np.searchsorted(keys, negative, side="left")
        n1 = np.searchsorted(keys, positive, side="right") - (turns + 1)
        np.add.at(ties, (negative >> layout.identity_shift).astype(np.int64), n0 * n1)
    return ties


def _block_sums(values: KeyArray | IndexArray, sizes: IndexArray) -> IndexArray:
    """Sum consecutive blocks of the given sizes; an empty block sums to 0."""
    sums = np.zeros(sizes.size, dtype=np.int64)
    filled = sizes > 0
    if filled.any():
        starts = np.cumsum(sizes) - sizes
        sums[filled] = np.add.reduceat(values, starts[filled], dtype=np.int64)
    return sums

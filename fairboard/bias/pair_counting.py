"""Pair counts for every AUC of a submission, computed from the ranks of its predictions."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairboard.bias.counts import IdentityCounts, PairCounts
from fairboard.bias.prepared import IndexArray, KeyArray, MentionLayout, PreparedSplit, as_vector
from fairboard.ranks import RankArray, ranks_of

# Each integer contains two counts: all rows in the low word and positive rows in the high word. A doubled
# midrank of up to 2**30 rows fits into either word.
_WORD = 32


def count_pairs(split: PreparedSplit, y_score: ArrayLike) -> PairCounts:
    """Count the ordered pairs behind every AUC and AEG of a submission.

    Parameters
    ----------
    split : PreparedSplit
        The labels and identities, from `prepare`.
    y_score : array_like, shape (split.rows,)
        One finite number per row, in the order of the split; higher means more likely positive. The
        values are compared as float64 and never thresholded.

    Returns
    -------
    PairCounts
        The counts, which do not depend on the order of the rows.

    Raises
    ------
    ValueError
        If `y_score` has the wrong length, or a value is not a finite number.

    Examples
    --------
    >>> from fairboard import prepare
    >>> split = prepare([1, 0, 1, 0], {"cat": [1, 1, 0, 0]})
    >>> [count_pairs(split, predictions).overall_wins for predictions in ([4, 3, 2, 1], [1, 1, 1, 1])]
    [6, 4]
    """
    return count_ranks(split, ranks_of("y_score", as_vector("y_score", y_score, rows=split.rows)))


def count_ranks(split: PreparedSplit, ranks: RankArray) -> PairCounts:
    """Count the ordered pairs of a submission like `count_pairs`, without sorting it again.

    Parameters
    ----------
    split : PreparedSplit
        The labels and identities, from `prepare`.
    ranks : ndarray of unsigned integers, shape (split.rows,)
        The ranks of the split's rows, from `dense_ranks`. Only their order and ties matter, so the ranks
        may be those among more rows than the split contains.

    Returns
    -------
    PairCounts
        The same integers that `count_pairs` returns for the predictions of the split's rows.

    Examples
    --------
    >>> from fairboard import dense_ranks, prepare
    >>> ranks = dense_ranks([0.5, 0.9, 0.5, 0.1])
    >>> count_ranks(prepare([1, 0, 0], {"cat": [1, 1, 0]}), ranks[[0, 2, 3]]).overall_wins
    3
    """
    # The doubled midrank of a row is the number of rows below it plus the number of rows not above it. Its
    # sum over the positive rows yields the Mann-Whitney U statistic, in which ties count as one half. The
    # cumulative sum of the number of rows at each rank is the number of rows at or below it. Twice this
    # number minus the number of rows at the rank is the doubled midrank.
    if ranks.size != split.rows:
        raise ValueError(f"`ranks` must have {split.rows} values, not {ranks.size}.")
    layout, at_rows = split.layout, ranks.astype(np.int64)
    at_positives = at_rows[layout.positive_rows]
    at = np.bincount(at_rows)
    np.add.at(at, at_positives, 1 << _WORD)
    midranks = np.cumsum(at)
    midranks <<= 1
    midranks -= at
    # All rows and ranks are in range; mode="clip" avoids the cost of checking.
    of_mentions = np.take(midranks, np.take(at_rows, layout.rows, mode="clip"), mode="clip")
    return PairCounts(
        rows=split.rows,
        positives=split.positives,
        overall_wins=int(_low(midranks[at_positives]).sum()) - split.positives**2,
        identities=_count_identities(split, _low(of_mentions), of_mentions >> _WORD),
    )


def _low(words: IndexArray) -> IndexArray:
    low: IndexArray = words & (2**_WORD - 1)
    return low


def _count_identities(
    split: PreparedSplit, midranks: IndexArray, among_positives: IndexArray
) -> tuple[IdentityCounts, ...]:
    """Count the pairs of every identity from the doubled midranks of its mentions.

    Only the rows that mention an identity are sorted, within each identity. The background is never ranked:
    its counts are those of all rows minus those of the subgroup.
    """
    layout = split.layout
    keys = (midranks << 1).astype(layout.keys.dtype)
    keys |= layout.keys
    for segment in layout.segments:
        keys[segment].sort()

    n1, n0 = layout.positives, layout.sizes - layout.positives
    rank1 = _block_sums(midranks[layout.positive_mentions], n1)
    rank0 = _block_sums(midranks, layout.sizes) - rank1
    over1 = _block_sums(among_positives[layout.positive_mentions], n1)
    over0 = _block_sums(among_positives, layout.sizes) - over1
    # Among equal midranks, negative rows come first. The positions of the positive rows therefore count every
    # tie as a win.
    places = _block_sums(np.flatnonzero((keys & 1).astype(np.bool_)), n1)
    places -= (np.cumsum(layout.sizes) - layout.sizes) * n1
    subgroup = 2 * places - n1 * (n1 - 1) - _count_ties(layout, keys)
    columns = (
        n1,
        n0,
        subgroup,
        2 * split.positives * n0 - over0 - subgroup,
        rank1 - over1 - subgroup,
        2 * split.positives * n1 - over1 - n1**2,
        2 * split.negatives * n0 - (rank0 - over0) - n0**2,
    )
    integers = (column.tolist() for column in columns)
    return tuple(map(IdentityCounts, split.names, split.in_score, *integers))


def _count_ties(layout: MentionLayout, keys: KeyArray) -> IndexArray:
    """Count the pairs of a positive and a negative row with equal midranks for each identity."""
    ties = np.zeros(len(layout.segments), dtype=np.int64)
    # A key followed by itself plus the label bit marks the first positive row in a run of both classes.
    turns = np.flatnonzero((keys[1:] ^ keys[:-1]) == 1)
    if turns.size:
        last_negative, first_positive = keys[turns], keys[turns + 1]
        n0 = turns + 1 - np.searchsorted(keys, last_negative, side="left")
        n1 = np.searchsorted(keys, first_positive, side="right") - (turns + 1)
        np.add.at(ties, (last_negative >> layout.identity_shift).astype(np.int64), n0 * n1)
    return ties


def _block_sums(values: NDArray[np.integer[Any]], sizes: IndexArray) -> IndexArray:
    """Sum consecutive blocks of the given sizes; an empty block sums to 0."""
    sums = np.zeros(sizes.size, dtype=np.int64)
    filled = sizes > 0
    if filled.any():
        starts = np.cumsum(sizes) - sizes
        sums[filled] = np.add.reduceat(values, starts[filled], dtype=np.int64)
    return sums

"""Scores from stored dense ranks, without another sort of the predictions (rescoring)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.metrics.counts import PairCounts
from grader.metrics.pair_counting import count_identities, finite_extremes, no_pairs, order, places_of
from grader.metrics.prepared import MAX_ROWS, IndexArray, PreparedSplit, Workspace, as_vector

RankArray = NDArray[np.unsignedinteger[Any]]

# Two counts share an integer, the rows in its low word and the positive ones in its high word: 2**30
# rows, counted twice for a doubled midrank, fit into each.
_WORD = 32


@dataclass(frozen=True, eq=False)
class RankedSplit:
    """A split: the positions of its rows, positive rows and mentions among all rows.

    Attributes
    ----------
    split : PreparedSplit
        What is true of the rows.
    rows, positive_rows, mention_rows : ndarray of int64
        Positions among all rows, in the order of the split and of its `MentionLayout`.
    """

    split: PreparedSplit
    rows: IndexArray
    positive_rows: IndexArray
    mention_rows: IndexArray

    @classmethod
    def of(cls, split: PreparedSplit, rows: IndexArray) -> "RankedSplit":
        """Place a split whose rows have these positions among all rows."""
        layout = split.layout
        return cls(split, rows, rows[layout.positive_rows], rows[layout.rows])


def dense_ranks(predictions: ArrayLike) -> RankArray:
    """Rank predictions from the lowest, 0, upwards; equal ones share a rank, and no rank is left out.

    Parameters
    ----------
    predictions : array_like, shape (n,)
        Finite numbers, compared as float64; -0.0 equals 0.0.

    Returns
    -------
    ndarray of uint8, uint16 or uint32, shape (n,)
        The smallest type that holds the highest rank.

    Raises
    ------
    ValueError
        If a value is not a finite number, or there are more than 2**30.
    """
    values = as_vector("predictions", predictions)
    if values.size > MAX_ROWS:
        raise ValueError(f"`predictions` has {values.size} rows; at most {MAX_ROWS} can be ranked.")
    if not values.size:
        return np.empty(0, np.uint8)
    workspace = Workspace(values.size, 0, np.dtype(np.uint32))
    row_codes = np.arange(0, 2 * values.size, 2, dtype=np.int64)
    ordering = order(values, finite_extremes(values, "predictions"), row_codes, workspace)
    is_new = np.ones(values.size, np.bool_)
    is_new[0] = False
    is_new[places_of(ordering.run_starts + 1, ordering.run_ends)] = False
    by_place = np.cumsum(is_new)
    ranks = np.empty(values.size, np.min_scalar_type(int(by_place[-1])))
    ranks[ordering.codes >> 1] = by_place
    return ranks


def count_ranks(ranked: RankedSplit, ranks: RankArray) -> PairCounts:
    """Count the pairs of a submission on one split from its ranks among all rows.

    Parameters
    ----------
    ranked : RankedSplit
        The split in its place among all rows.
    ranks : ndarray of unsigned integers, shape (all rows,)
        From `dense_ranks` of the predictions of all rows.

    Returns
    -------
    PairCounts
        The integers that `count_pairs` returns for the predictions of the split's rows.

    Notes
    -----
    The rows of the split are counted by rank. Summed up, the counts say how many rows lie at or
    below a rank; twice that less the rows at the rank is the doubled midrank. Nothing is sorted
    but the few rows that mention an identity, among themselves.
    """
    split = ranked.split
    if not split.rows:
        return no_pairs(split)
    positive_ranks = _ranks_at(ranked.positive_rows, ranks)
    at = np.bincount(_ranks_at(ranked.rows, ranks))
    np.add.at(at, positive_ranks, 1 << _WORD)
    up_to = np.cumsum(at)
    of_positives = _doubled_midranks(at, up_to, positive_ranks)
    of_mentions = _doubled_midranks(at, up_to, _ranks_at(ranked.mention_rows, ranks))
    with split.layout.workspaces.lend() as workspace:
        np.copyto(workspace.mention_midranks, _low(of_mentions), casting="unsafe")
        np.right_shift(of_mentions, _WORD, out=workspace.mention_ranks, casting="unsafe")
        return PairCounts(
            rows=split.rows,
            positives=split.positives,
            overall_wins=int(_low(of_positives).sum()) - split.positives**2,
            identities=count_identities(split, workspace),
        )


def _ranks_at(rows: IndexArray, ranks: RankArray) -> IndexArray:
    # Every row is in range; clipping is the quick way of not looking.
    taken: IndexArray = np.take(ranks, rows, mode="clip").astype(np.int64)
    return taken


def _doubled_midranks(at: IndexArray, up_to: IndexArray, ranks: IndexArray) -> IndexArray:
    """Return the doubled midranks of some rows, among all rows and among the positive ones in one integer."""
    midranks: IndexArray = np.take(up_to, ranks, mode="clip")
    midranks <<= 1
    midranks -= np.take(at, ranks, mode="clip")
    return midranks


def _low(midranks: IndexArray) -> IndexArray:
    low: IndexArray = midranks & (2**_WORD - 1)
    return low

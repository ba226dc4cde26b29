"""Pair counts from stored dense ranks, for rescoring without sorting again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.metrics.counts import PairCounts
from grader.metrics.pair_counting import count_identities, finite_extremes, no_pairs, order
from grader.metrics.prepared import MAX_ROWS, IndexArray, PreparedSplit, Workspace, as_vector

RankArray = NDArray[np.unsignedinteger[Any]]

# Each integer contains two counts: all rows in the low word and positive rows in the high word. A doubled
# midrank of up to 2**30 rows fits into either word.
_WORD = 32


@dataclass(frozen=True, eq=False)
class RankedSplit:
    """A split with the positions of its rows, positive rows and mentions among all rows.

    Attributes
    ----------
    split : PreparedSplit
        The labels and identities of the rows.
    rows, positive_rows, mention_rows : ndarray of int64
        Positions among all rows, in the order of the split and of its `MentionLayout`.
    """

    split: PreparedSplit
    rows: IndexArray
    positive_rows: IndexArray
    mention_rows: IndexArray

    @classmethod
    def of(cls, split: PreparedSplit, rows: IndexArray) -> "RankedSplit":
        """Create a ranked split from the positions of the split's rows among all rows."""
        layout = split.layout
        return cls(split, rows, rows[layout.positive_rows], rows[layout.rows])


def dense_ranks(predictions: ArrayLike) -> RankArray:
    """Return the dense ranks of predictions: 0 for the lowest, equal ranks for ties, and no gaps.

    Parameters
    ----------
    predictions : array_like, shape (n,)
        Finite numbers, compared as float64; -0.0 equals 0.0.

    Returns
    -------
    ndarray of uint8, uint16 or uint32, shape (n,)
        The ranks in the smallest data type that can represent the highest rank.

    Raises
    ------
    ValueError
        If a value is not a finite number, or there are more than 2**30 values.
    """
    values = as_vector("predictions", predictions)
    if values.size > MAX_ROWS:
        raise ValueError(f"`predictions` has {values.size} rows; at most {MAX_ROWS} can be ranked.")
    if not values.size:
        return np.empty(0, np.uint8)
    workspace = Workspace(values.size, 0, np.dtype(np.uint32))
    row_codes = np.arange(0, 2 * values.size, 2, dtype=np.int64)
    ordering = order(values, finite_extremes(values, "predictions"), row_codes, workspace)
    by_place = np.cumsum(~ordering.is_repeat, dtype=np.int64) - 1
    ranks = np.empty(values.size, np.min_scalar_type(int(by_place[-1])))
    ranks[ordering.codes >> 1] = by_place
    return ranks


def count_ranks(ranked: RankedSplit, ranks: RankArray) -> PairCounts:
    """Count the ordered pairs of a submission on one split from its ranks among all rows.

    Parameters
    ----------
    ranked : RankedSplit
        The split with the positions of its rows among all rows.
    ranks : ndarray of unsigned integers, shape (all rows,)
        The output of `dense_ranks` for the predictions of all rows.

    Returns
    -------
    PairCounts
        The same integers that `count_pairs` returns for the predictions of the split's rows.

    Notes
    -----
    The rows of the split are counted by rank. The cumulative sum of these counts is the number of rows at
    or below each rank. Twice this number minus the number of rows at the rank is the doubled midrank. Only
    the rows that mention an identity are sorted, within each identity.
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
    # All rows are in range; mode="clip" avoids the cost of checking.
    taken: IndexArray = np.take(ranks, rows, mode="clip").astype(np.int64)
    return taken


def _doubled_midranks(at: IndexArray, up_to: IndexArray, ranks: IndexArray) -> IndexArray:
    """Return doubled midranks among all rows (low word) and among the positive rows (high word)."""
    midranks: IndexArray = np.take(up_to, ranks, mode="clip")
    midranks <<= 1
    midranks -= np.take(at, ranks, mode="clip")
    return midranks


def _low(midranks: IndexArray) -> IndexArray:
    low: IndexArray = midranks & (2**_WORD - 1)
    return low

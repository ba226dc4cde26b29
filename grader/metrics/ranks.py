"""Pair counts from stored dense ranks, for rescoring without sorting again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.metrics.counts import PairCounts
from grader.metrics.pair_counting import (
    Midranks,
    count_at_ranks,
    finite_extremes,
    no_pairs,
    order,
    separating_bins,
)
from grader.metrics.prepared import MAX_ROWS, IndexArray, PreparedSplit, Workspace, as_vector

RankArray = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, eq=False)
class RankedSplit:
    """A split with the positions of its rows, positive rows and mentions among all rows.

    Attributes
    ----------
    split : PreparedSplit
        The labels and identities of the rows.
    rows, positive_rows, mention_rows : ndarray of int64
        Positions among all rows, in the order of the split and of its `MentionLayout`.

    Examples
    --------
    >>> import numpy as np
    >>> from fairboard import RankedSplit, prepare
    >>> split = prepare([1, 0], {"cat": [1, 0]})  # the first and the third of three rows
    >>> RankedSplit.of(split, np.array([0, 2])).rows.tolist()
    [0, 2]
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

    Examples
    --------
    >>> dense_ranks([0.5, 0.9, 0.5, 0.1]).tolist()
    [1, 2, 1, 0]
    """
    values = as_vector("predictions", predictions)
    if values.size > MAX_ROWS:
        raise ValueError(f"`predictions` has {values.size} rows; at most {MAX_ROWS} can be ranked.")
    if not values.size:
        return np.empty(0, np.uint8)
    workspace = Workspace(values.size, 0, np.dtype(np.uint32))
    extremes = finite_extremes(values, "predictions")
    bins = separating_bins(values, extremes, workspace)
    if bins is not None:
        rank_of_bin = np.cumsum(np.bincount(bins) > 0) - 1
        return rank_of_bin.astype(np.min_scalar_type(int(rank_of_bin[-1])))[bins]
    row_codes = np.arange(0, 2 * values.size, 2, dtype=np.int64)
    ordering = order(values, extremes, row_codes, workspace)
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

    Examples
    --------
    >>> from fairboard import prepare
    >>> ranks = dense_ranks([0.5, 0.9, 0.5, 0.1])
    >>> ranked = RankedSplit.of(prepare([1, 0, 0], {"cat": [1, 1, 0]}), np.array([0, 2, 3]))
    >>> count_ranks(ranked, ranks).overall_wins
    3
    """
    return count_with_midranks(ranked, ranks)[0]


def count_with_midranks(ranked: RankedSplit, ranks: RankArray) -> tuple[PairCounts, Midranks]:
    """Return the result of `count_ranks` with the midranks from which standard errors are computed."""
    split = ranked.split
    if not split.rows:
        return no_pairs(split), Midranks(np.empty(0, np.uint32), *np.empty((3, 0), np.int64))
    at_rows = _ranks_at(ranked.rows, ranks)
    at_positives = _ranks_at(ranked.positive_rows, ranks)
    at_mentions = _ranks_at(ranked.mention_rows, ranks)
    with split.layout.workspaces.lend() as workspace:
        return count_at_ranks(split, at_rows, at_positives, at_mentions, workspace)


def _ranks_at(rows: IndexArray, ranks: RankArray) -> IndexArray:
    # All rows are in range; mode="clip" avoids the cost of checking.
    taken: IndexArray = np.take(ranks, rows, mode="clip").astype(np.int64)
    return taken

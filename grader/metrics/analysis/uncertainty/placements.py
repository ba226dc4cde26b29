"""Placements: share of the other set's rows below each row (DeLong's components).

All counts are doubled, so that a tie, which counts one half, is an integer.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.metrics.prepared import FloatArray

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassTable:
    """How many rows of one class lie below each rank, and at or below it.

    Attributes
    ----------
    size : int
        Rows of the class.
    below, up_to : ndarray of int64, shape (ranks,)
        By rank.
    """

    size: int
    below: Counts
    up_to: Counts

    @classmethod
    def of(cls, at: Counts) -> "ClassTable":
        """Sum up how many rows of a class lie at each rank."""
        up_to = np.cumsum(at)
        return cls(int(up_to[-1]) if at.size else 0, up_to - at, up_to)

    def doubled(self, ranks: Counts) -> Counts:
        """Return the doubled placements of some ranks: twice the rows below, plus the rows at it."""
        found: Counts = self.below[ranks]
        found += self.up_to[ranks]
        return found

    def at(self, ranks: Counts) -> "ClassTable":
        """Return the lines of some ranks, of the same class: each is looked up once."""
        return ClassTable(self.size, self.below[ranks], self.up_to[ranks])


@dataclass(frozen=True, eq=False)
class Steps:
    """The rows of one class of a subgroup by distinct rank, placed among the ranks of its other class.

    Attributes
    ----------
    size, other_size : int
        Rows of this class of the subgroup, and of the other one.
    ranks : ndarray of int64, shape (distinct,)
        Ascending.
    counts : ndarray of int64, shape (distinct,)
        Rows at each rank.
    below, other_below : ndarray of int64, shape (distinct,)
        Rows of this class, and of the other, below each rank.
    not_above, other_not_above : ndarray of int64, shape (distinct,)
        Those at or below it.
    everybody, others : ClassTable
        All rows of this class, and of the other, at these ranks.
    """

    size: int
    other_size: int
    ranks: Counts
    counts: Counts
    below: Counts
    not_above: Counts
    other_below: Counts
    other_not_above: Counts
    everybody: ClassTable
    others: ClassTable

    @classmethod
    def of(cls, ranks: Counts, other: Counts, everybody: ClassTable, others: ClassTable) -> "Steps":
        """Lay out sorted ranks against the sorted ranks of the other class, and against all rows of both."""
        below = np.flatnonzero(np.concatenate([[True], ranks[1:] != ranks[:-1]])) if ranks.size else ranks[:0]
        not_above = np.append(below[1:], ranks.size) if ranks.size else below
        distinct = ranks[below]
        return cls(
            size=ranks.size,
            other_size=other.size,
            ranks=distinct,
            counts=not_above - below,
            below=below,
            not_above=not_above,
            other_below=np.searchsorted(other, distinct, side="left"),
            other_not_above=np.searchsorted(other, distinct, side="right"),
            everybody=everybody.at(distinct),
            others=others.at(distinct),
        )

    def by_row(self, by_rank: Counts) -> Counts:
        """Return for each row, in ascending order, what belongs to its rank."""
        return by_rank if self.ranks.size == self.size else np.repeat(by_rank, self.counts)

    @property
    def doubled_in_other(self) -> Counts:
        """Doubled placements in the other class of the subgroup, by rank."""
        return self.other_below + self.other_not_above

    @property
    def doubled_in_background(self) -> Counts:
        """Doubled placements in the background rows of the same class, by rank."""
        return self.everybody.below + self.everybody.up_to - (self.below + self.not_above)

    @property
    def doubled_in_other_background(self) -> Counts:
        """Doubled placements in the background rows of the other class, by rank."""
        return self.others.below + self.others.up_to - self.doubled_in_other

    def spread(self, doubled: Counts, doubled_size: int, mean: float) -> float:
        """Return the sum of squares of the rows' placements in another set, as fractions, about a mean."""
        return weighted_squares(self.counts, doubled / doubled_size - mean)

    def spread_of_background(self, mean: float) -> float:
        """Return the same for the background rows of the same class and their placements in these rows."""
        return self._spread(self.everybody, self.below, self.not_above, self.size, mean)

    def spread_of_other_background(self, mean: float) -> float:
        """Return the same for the background rows of the other class and their placements in these rows."""
        return self._spread(self.others, self.other_below, self.other_not_above, self.other_size, mean)

    def _spread(
        self, among: ClassTable, below: Counts, not_above: Counts, subgroup_size: int, mean: float
    ) -> float:
        # A background row's placement is a step function of its rank, which changes only at the ranks
        # of these rows: between two of them the rows need only be counted, not visited.
        up_to = among.up_to - not_above
        under = among.below - below
        between = under.copy()
        between[1:] -= up_to[:-1]
        above = among.size - subgroup_size - int(up_to[-1])
        at_steps = (self.below + self.not_above) / (2 * self.size) - mean
        between_steps = self.below / self.size - mean
        return (
            weighted_squares(up_to - under, at_steps)
            + weighted_squares(between, between_steps)
            + above * (1 - mean) ** 2
        )


def weighted_squares(weights: Counts, values: FloatArray) -> float:
    """Return the sum of weighted squares."""
    return float((values * values * weights).sum())

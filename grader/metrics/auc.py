"""AUC as an exact pair count."""

from decimal import Decimal
from typing import NamedTuple


class Comparison(NamedTuple):
    """The pairs that one set of rows wins against another.

    Attributes
    ----------
    wins : int
        2 for each pair in which the row of the first set has the higher prediction, plus 1 for
        each tie.
    first, second : int
        Rows in each set. Where one is 0 there are no pairs, and nothing is defined.
    """

    wins: int
    first: int
    second: int

    @property
    def is_defined(self) -> bool:
        """Whether there is a pair to compare."""
        return self.first > 0 and self.second > 0

    @property
    def auc(self) -> float | None:
        """Probability that a row of the first set is above one of the second, ties one half.

        One division of integers, correctly rounded.
        """
        if not (self.first and self.second):
            return None
        return self.wins / (2 * self.first * self.second)

    @property
    def exact_auc(self) -> Decimal | None:
        """The same in the precision of the current decimal context."""
        if not (self.first and self.second):
            return None
        return Decimal(self.wins) / (2 * self.first * self.second)

    @property
    def gap(self) -> float | None:
        """One half minus the AUC, again by one correctly rounded division."""
        if not (self.first and self.second):
            return None
        pairs = self.first * self.second
        return (pairs - self.wins) / (2 * pairs)

"""An AUC as an exact integer count of pairs, divided once."""

from decimal import Decimal
from typing import NamedTuple


class Side(NamedTuple):
    """One side of a comparison: which rows, and how many."""

    rows: str
    size: int


class Comparison(NamedTuple):
    """A doubled count of the pairs that one side wins against another."""

    wins: int
    winners: Side
    losers: Side

    @property
    def doubled_pairs(self) -> int:
        """Twice the number of pairs; 0 where the comparison is undefined."""
        return 2 * self.winners.size * self.losers.size

    @property
    def auc(self) -> float | None:
        """Probability that the first side is above, ties one half: one exact division."""
        return self.wins / self.doubled_pairs if self.doubled_pairs else None

    @property
    def exact_auc(self) -> Decimal | None:
        """The same in the precision of the current decimal context."""
        return Decimal(self.wins) / self.doubled_pairs if self.doubled_pairs else None

    @property
    def gap(self) -> float | None:
        """One half minus the AUC, again by one exact division."""
        pairs = self.doubled_pairs
        return (pairs // 2 - self.wins) / pairs if pairs else None

    @property
    def reason(self) -> str:
        """Why it is undefined: the sides without rows."""
        missing = [side.rows for side in (self.winners, self.losers) if not side.size]
        return f"there are no {' and no '.join(missing)}."

"""Pair counts of a submission, and exact AUCs computed from them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple


class IdentityCounts(NamedTuple):
    """Row and pair counts of an identity; each ``..._wins`` adds 2 per pair won and 1 per tie.

    Attributes
    ----------
    name : str
        The identity.
    in_score : bool
        Whether the identity enters the power means.
    positives, negatives : int
        Rows of each class that mention the identity.
    subgroup_wins : int
        Wins of positive subgroup rows over negative subgroup rows.
    bpsn_wins : int
        Wins of positive background rows over negative subgroup rows.
    bnsp_wins : int
        Wins of positive subgroup rows over negative background rows.
    positive_background_wins, negative_background_wins : int
        Wins of background rows over subgroup rows of the same class.

    Examples
    --------
    >>> from fairboard import count_pairs, prepare
    >>> (cat,) = count_pairs(prepare([1, 0, 0], {"cat": [1, 1, 0]}), [0.9, 0.9, 0.1]).identities
    >>> cat.subgroup_wins, cat.bnsp_wins  # one tie, and one pair won
    (1, 2)
    """

    name: str
    in_score: bool
    positives: int
    negatives: int
    subgroup_wins: int
    bpsn_wins: int
    bnsp_wins: int
    positive_background_wins: int
    negative_background_wins: int


@dataclass(frozen=True, slots=True)
class PairCounts:
    """All counts required for the report of one submission on one split, as exact integers.

    Attributes
    ----------
    rows, positives : int
        Number of rows in the split, and number of positive rows among them.
    overall_wins : int
        Wins of positive rows over negative rows: 2 per pair won and 1 per tie.
    identities : tuple of IdentityCounts
        The counts of each identity, in the order of the report.

    Examples
    --------
    >>> from fairboard import count_pairs, prepare
    >>> counts = count_pairs(prepare([1, 0, 0], {"cat": [1, 1, 0]}), [0.9, 0.9, 0.1])
    >>> counts.overall_wins, counts.positives, counts.negatives  # the AUC is 3 / (2 * 1 * 2)
    (3, 1, 2)
    """

    rows: int
    positives: int
    overall_wins: int
    identities: tuple[IdentityCounts, ...]

    @property
    def negatives(self) -> int:
        """Number of negative rows."""
        return self.rows - self.positives

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "rows": self.rows,
            "positives": self.positives,
            "overall_wins": self.overall_wins,
            "identities": [counts._asdict() for counts in self.identities],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PairCounts":
        """Create the counts from the output of `as_dict`, with or without a JSON round trip."""
        identities = tuple(IdentityCounts(**counts) for counts in data["identities"])
        return cls(data["rows"], data["positives"], data["overall_wins"], identities)


def hanley_mcneil(auc: float) -> tuple[float, float]:
    """Return the variances of the share of negative rows below a positive one, and of the reverse."""
    return 2 * auc * auc / (1 + auc) - auc * auc, auc / (2 - auc) - auc * auc


class Comparison(NamedTuple):
    """The pairs that one set of rows wins against another.

    Attributes
    ----------
    wins : int
        2 for each pair in which the row of the first set has the higher prediction, and 1 for each tie.
    first, second : int
        Numbers of rows in the two sets. If either is 0, there are no pairs and all values are undefined.
    """

    wins: int
    first: int
    second: int

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return self.first * self.second

    @property
    def auc(self) -> float | None:
        """Probability that a row of the first set ranks above a row of the second set; ties count 1/2.

        The value is computed by one correctly rounded division of integers.
        """
        return self.wins / (2 * self.pairs) if self.pairs else None

    @property
    def standard_error(self) -> float:
        """Approximate standard error of the AUC (Hanley and McNeil, 1982).

        The AUC is moved slightly toward 1/2, so that the error of a perfect order is not 0.
        """
        smaller = min(self.first, self.second)
        auc = ((self.auc or 0.0) * smaller + 1) / (smaller + 2)
        of_second, of_first = hanley_mcneil(auc)
        variance = auc * (1 - auc) + (self.first - 1) * of_first + (self.second - 1) * of_second
        return math.sqrt(variance / self.pairs)

    @property
    def exact_auc(self) -> Decimal | None:
        """The AUC in the precision of the current decimal context."""
        return Decimal(self.wins) / (2 * self.pairs) if self.pairs else None

    @property
    def gap(self) -> float | None:
        """One half minus the AUC, computed by one correctly rounded division."""
        return (self.pairs - self.wins) / (2 * self.pairs) if self.pairs else None

"""Pair counts behind a score, and the exact AUC of a pair count."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, NamedTuple


class IdentityCounts(NamedTuple):
    """The counts of one identity. Every ``..._wins`` is 2 per pair won plus 1 per tie.

    Attributes
    ----------
    name : str
        The identity.
    in_score : bool
        Whether it enters the power means.
    positives, negatives : int
        Rows of each class that mention it.
    subgroup_wins : int
        Positive over negative rows, both mentioning it.
    bpsn_wins : int
        Positive rows of the background over negative rows that mention it.
    bnsp_wins : int
        Positive rows that mention it over negative rows of the background.
    positive_background_wins, negative_background_wins : int
        Rows of the background over rows that mention it, both positive or both negative.
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
    """Everything a report needs of one submission on one split, as exact integers.

    Attributes
    ----------
    rows, positives : int
        Rows of the split, and how many are positive.
    overall_wins : int
        Positive over negative rows: 2 per pair won plus 1 per tie.
    identities : tuple of IdentityCounts
        In the order of the report.
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
        """Build the counts from what `as_dict` returned, or its JSON.

        Raises
        ------
        ValueError
            If a key is missing or unknown.
        """
        _require_keys(data, [attribute.name for attribute in fields(cls)])
        for counts in data["identities"]:
            _require_keys(counts, IdentityCounts._fields)
        identities = tuple(IdentityCounts(**counts) for counts in data["identities"])
        return cls(**{**data, "identities": identities})


def _require_keys(data: Mapping[str, Any], keys: Collection[str]) -> None:
    wrong = set(keys) ^ set(data)
    if wrong:
        raise ValueError(f"These pair counts have missing or unknown keys: {', '.join(sorted(wrong))}.")


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

"""Data types of the pair counts behind a score."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
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

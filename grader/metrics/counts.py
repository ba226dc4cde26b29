"""The exact integers a score is made of: how many pairs each AUC and AEG orders in its favour."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class IdentityCounts:
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
        return asdict(self) | {"identities": [asdict(counts) for counts in self.identities]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PairCounts":
        """Build the counts from what `as_dict` returned, or its JSON.

        Raises
        ------
        ValueError
            If a key is missing or unknown.
        """
        _require_keys(cls, data)
        for counts in data["identities"]:
            _require_keys(IdentityCounts, counts)
        identities = tuple(IdentityCounts(**counts) for counts in data["identities"])
        return cls(**{**data, "identities": identities})


def _require_keys(cls: type[PairCounts] | type[IdentityCounts], data: Mapping[str, Any]) -> None:
    expected = {attribute.name for attribute in fields(cls)}
    if set(data) != expected:
        wrong = ", ".join(sorted(expected ^ set(data)))
        raise ValueError(f"These pair counts have missing or unknown keys: {wrong}.")

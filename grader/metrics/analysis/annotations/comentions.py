"""Co-mentions: which identities occur in the same row, and how many."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.metrics.analysis.annotations.annotations import Annotations


@dataclass(frozen=True, slots=True)
class CoMentions:
    """Identities that share rows.

    Attributes
    ----------
    identities : tuple of str
    rows : tuple of tuple of int
        Rows that mention both; on the diagonal, rows that mention the identity.
    identities_per_row : tuple of int
        How many rows mention 0, 1, 2, … identities.
    mean_by_identity : mapping of str to float or None
        Mean number of identities, itself included, in the rows that mention it; None without rows.
    """

    identities: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    identities_per_row: tuple[int, ...]
    mean_by_identity: Mapping[str, float | None]

    @property
    def mentions(self) -> int:
        """Number of mentions in all rows."""
        return sum(number * rows for number, rows in enumerate(self.identities_per_row))

    @property
    def mean(self) -> float | None:
        """Mean number of identities in a row; None without rows."""
        rows = sum(self.identities_per_row)
        return self.mentions / rows if rows else None

    @property
    def mean_where_any(self) -> float | None:
        """Mean number of identities in the rows that mention any; None without such rows."""
        rows = sum(self.identities_per_row[1:])
        return self.mentions / rows if rows else None

    def together(self, first: str, second: str) -> int:
        """Return how many rows mention both."""
        return self.rows[self.identities.index(first)][self.identities.index(second)]

    def share(self, of: str, other: str) -> float | None:
        """Return which share of the rows that mention the first identity mention the other too."""
        size = self.together(of, of)
        return self.together(of, other) / size if size else None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "identities": list(self.identities),
            "rows": [list(line) for line in self.rows],
            "identities_per_row": list(self.identities_per_row),
            "mean": self.mean,
            "mean_where_any": self.mean_where_any,
            "mean_by_identity": dict(self.mean_by_identity),
        }


def co_mentions(annotations: Annotations) -> CoMentions:
    """Count which identities are mentioned together.

    Parameters
    ----------
    annotations : Annotations
        Its labels play no part. With the background ``"annotated"`` a row that is blank in every identity
        is not counted; with ``"all"`` it mentions none.

    Returns
    -------
    CoMentions
        Exact counts.

    Notes
    -----
    Hann, Kalil and Payne, section 4.2.2: 2.007 identities in a comment on average, 3.804 where it
    mentions ``homosexual_gay_or_lesbian``.

    Examples
    --------
    >>> found = co_mentions(Annotations.of({"toxic": [0] * 4}, {"cat": [1, 1, 0, 0], "dog": [1, 0, 1, 0]}))
    >>> found.together("cat", "dog"), found.identities_per_row, found.mean, found.mean_by_identity["cat"]
    (1, (1, 2, 1), 1.0, 1.5)
    """
    members = annotations.members
    per_row = np.zeros(annotations.size, np.int64)
    for mentions in members.values():
        per_row += mentions
    counted = np.full(annotations.size, annotations.background == "all")
    for considered in annotations.considered.values():
        counted |= considered
    per_row_counts = np.bincount(per_row[counted], minlength=1)
    return CoMentions(
        identities=annotations.names,
        rows=tuple(
            tuple(int(np.count_nonzero(mentions & other)) for other in members.values())
            for mentions in members.values()
        ),
        identities_per_row=tuple(per_row_counts.tolist()),
        mean_by_identity={
            name: int(per_row[mentions].sum()) / int(mentions.sum()) if mentions.any() else None
            for name, mentions in members.items()
        },
    )

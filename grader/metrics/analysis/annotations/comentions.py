"""Co-mentions of identities in a row, and PPMI of identities and labels."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from grader.metrics.analysis.annotations.annotations import Annotations
from grader.metrics.analysis.matrix import Matrix

Unit = Literal["comments", "pairs"]
Counts = Mapping[tuple[str, str], int]


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


def ppmi(annotations: Annotations, unit: Unit = "comments") -> Matrix:
    r"""Say how much more often each identity and label meet than if they were independent.

    .. math:: PPMI = \max\left(0, \ln \frac{P(identity, label)}{P(identity) P(label)}\right)

    Parameters
    ----------
    annotations : Annotations
        Identities and labels are true from their thresholds on.
    unit : {"comments", "pairs"}
        What a probability is a share of. Of comments: each row is drawn once, whatever it mentions. Of
        pairs: each meeting of an identity and a label is drawn once, so that a comment counts as often as
        it mentions identities times the labels it has, and not at all without either.

    Returns
    -------
    Matrix
        In natural units, 0 where they meet less often than that or never; None where a probability of
        the denominator is 0.

    Notes
    -----
    Hann, Kalil and Payne, Figure 3, does not name its reading. Its values are those of pairs, in natural
    units: with comments, ``heterosexual`` and ``toxicity`` could not print 0 where 24 % of the comments
    are toxic against 8 % overall, and in bits the shares of the labels would exceed 1.

    Examples
    --------
    >>> annotations = Annotations.of({"toxic": [1, 1, 0, 0]}, {"cat": [1, 0, 0, 0], "dog": [0, 1, 1, 0]})
    >>> print(ppmi(annotations))
    identity     toxic
    cat          0.693
    dog          0.000
    >>> print(ppmi(annotations, "pairs"))
    identity     toxic
    cat          0.000
    dog          0.000
    """
    if unit not in get_args(Unit):
        raise ValueError(f'`unit` must be "comments" or "pairs", not {unit!r}.')
    return _of_comments(annotations) if unit == "comments" else ppmi_of_counts(_meetings(annotations))


def ppmi_of_counts(counts: Counts) -> Matrix:
    """Return the PPMI of pairs from the number of meetings of each identity and label.

    Parameters
    ----------
    counts : mapping of (str, str) to int
        By identity and label; every identity has every label.

    Returns
    -------
    Matrix
        As of `ppmi`.
    """
    identities = dict.fromkeys(identity for identity, _ in counts)
    labels = dict.fromkeys(label for _, label in counts)
    of_identity = {each: sum(counts[each, label] for label in labels) for each in identities}
    of_label = {each: sum(counts[identity, each] for identity in identities) for each in labels}
    total = sum(of_identity.values())

    def value_or_reason(identity: str, label: str) -> float | str:
        if not of_identity[identity]:
            return "no row mentions the identity and has a label."
        if not of_label[label]:
            return "no row has the label and mentions an identity."
        return _positive_log(counts[identity, label] * total, of_identity[identity] * of_label[label])

    return Matrix.of("ppmi_pairs", identities, labels, value_or_reason)


def _of_comments(annotations: Annotations) -> Matrix:
    members, positive = annotations.members, annotations.positive

    def value_or_reason(identity: str, label: str) -> float | str:
        kept = annotations.considered[identity] & annotations.labelled[label]
        mentions, has = members[identity] & kept, positive[label] & kept
        mentioning, having = int(mentions.sum()), int(has.sum())
        if not mentioning or not having:
            return "no row mentions the identity." if not mentioning else "no row has the label."
        both = int(np.count_nonzero(mentions & has))
        return _positive_log(both * int(kept.sum()), mentioning * having)

    return Matrix.of("ppmi_comments", members, positive, value_or_reason)


def _meetings(annotations: Annotations) -> Counts:
    return {
        (identity, label): int(np.count_nonzero(mentions & has))
        for identity, mentions in annotations.members.items()
        for label, has in annotations.positive.items()
    }


def _positive_log(observed: int, expected: int) -> float:
    """Return the logarithm of a ratio of integers, 0 below 1; the comparison and the ratio are exact."""
    return math.log(observed / expected) if observed > expected else 0.0

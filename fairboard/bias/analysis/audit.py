"""Data audit of a solution without a model: label shares, co-mentions and PPMI."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from fairboard.bias.analysis.annotations import (
    TENTHS,
    Annotations,
    FractionCounts,
    count_fractions,
)
from fairboard.bias.analysis.association import Reading, label_correlations
from fairboard.bias.analysis.distributions import mean
from fairboard.bias.analysis.matrix import Matrix
from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.prepared import BoolArray, FloatArray
from fairboard.bias.subgroups import Flat

Unit = Literal["comments", "pairs"]
Counts = Mapping[tuple[str, str], int]
READINGS: tuple[Reading, ...] = ("fractions", "binarized")
UNITS: tuple[Unit, ...] = ("comments", "pairs")


@dataclass(frozen=True, slots=True)
class CoMentions:
    """The counts of rows that mention several identities.

    Attributes
    ----------
    identities : tuple of str
    rows : tuple of tuple of int
        Number of rows that mention both identities; on the diagonal, the number of rows that mention the
        identity.
    identities_per_row : tuple of int
        Number of rows that mention 0, 1, 2, … identities.
    mean_by_identity : mapping of str to float or None
        For each identity, the mean number of identities (including itself) in the rows that mention it; None
        if it has no rows.
    """

    identities: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    identities_per_row: tuple[int, ...]
    mean_by_identity: Mapping[str, float | None]

    @property
    def mentions(self) -> int:
        """Total number of mentions in all rows."""
        return sum(number * rows for number, rows in enumerate(self.identities_per_row))

    @property
    def mean(self) -> float | None:
        """Mean number of identities per row; None if there are no rows."""
        rows = sum(self.identities_per_row)
        return self.mentions / rows if rows else None

    @property
    def mean_where_any(self) -> float | None:
        """Mean number of identities in rows that mention at least one; None if there are no such rows."""
        rows = sum(self.identities_per_row[1:])
        return self.mentions / rows if rows else None

    def together(self, first: str, second: str) -> int:
        """Return the number of rows that mention both identities."""
        return self.rows[self.identities.index(first)][self.identities.index(second)]

    def share(self, of: str, other: str) -> float | None:
        """Return the share of the rows with the first identity that also mention the other."""
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
    """Count the rows that mention several identities together.

    Parameters
    ----------
    annotations : Annotations
        The identities; labels are ignored. A row in which every identity is blank is not counted with the
        background ``"annotated"``, and counts as mentioning no identity with ``"all"``.

    Returns
    -------
    CoMentions
        Exact counts.

    Notes
    -----
    Hann, Kalil and Payne, section 4.2.2, report 2.007 identities per comment on average, and 3.804 for
    comments that mention ``homosexual_gay_or_lesbian``.

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
    r"""Compute the positive pointwise mutual information (PPMI) of each identity and label.

    .. math:: PPMI = \max\left(0, \ln \frac{P(identity, label)}{P(identity) P(label)}\right)

    Parameters
    ----------
    annotations : Annotations
        The identities and labels, which count as present if they reach their thresholds.
    unit : {"comments", "pairs"}
        The unit of the probabilities. With ``"comments"``, each row counts once. With ``"pairs"``, each
        co-occurrence of an identity and a label counts once. A comment then counts as many times as its
        number of identities multiplied by its number of labels.

    Returns
    -------
    Matrix
        The PPMI in nats: 0 if identity and label occur together no more often than if they were independent;
        None if a probability in the denominator is 0.

    Notes
    -----
    Hann, Kalil and Payne do not state the unit of Figure 3. Its values match pairs in nats. If the unit were
    comments, the value for ``heterosexual`` and ``toxicity`` could not be 0, because 24 % of these comments
    are toxic, compared with 8 % overall. If the values were in bits, the implied shares of the labels would
    exceed 1.

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
    """Compute the PPMI of pairs from the co-occurrence count of each identity and label.

    Parameters
    ----------
    counts : mapping of (str, str) to int
        The count for every combination of identity and label.

    Returns
    -------
    Matrix
        The PPMI, as returned by `ppmi`.
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
    """Return the logarithm of a ratio of integers, or 0 if the ratio is below 1.

    The integers are compared exactly, without rounding.
    """
    return math.log(observed / expected) if observed > expected else 0.0


@dataclass(frozen=True, slots=True)
class MeanLabel(Flat):
    """The mean fraction of a label in the rows that mention an identity, or in all rows.

    Attributes
    ----------
    identity : str or None
        The identity; None for all rows.
    label : str
    rows, positives : int
        Number of rows in which the label is not blank, and number of positive rows among them.
    mean : float or None
        Mean over these rows; None if there are none.
    mean_of_positives : float or None
        Mean over the positive rows only; None if there are none.
    """

    identity: str | None
    label: str
    rows: int
    positives: int
    mean: float | None
    mean_of_positives: float | None


@dataclass(frozen=True, slots=True)
class DataAudit:
    """The results of the model-free audit of a solution.

    Attributes
    ----------
    rows : int
    settings : MetricSettings
        The metric settings; only the thresholds are used.
    background : {"all", "annotated"}
        The treatment of blank identities.
    correlations : mapping of Reading to Matrix
        Correlations of identities and labels, for ``"fractions"`` and ``"binarized"`` values.
    ppmi : mapping of Unit to Matrix
        PPMI of identities and labels, for ``"comments"`` and ``"pairs"``.
    labels, identities : tuple of FractionCounts
        The distribution of each column.
    mean_labels : tuple of MeanLabel
        The mean of each label, first over all rows and then for each identity.
    co_mentions : CoMentions
    """

    rows: int
    settings: MetricSettings
    background: str
    correlations: Mapping[Reading, Matrix]
    ppmi: Mapping[Unit, Matrix]
    labels: tuple[FractionCounts, ...]
    identities: tuple[FractionCounts, ...]
    mean_labels: tuple[MeanLabel, ...]
    co_mentions: CoMentions

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "rows": self.rows,
            "label_threshold": self.settings.label_threshold,
            "identity_threshold": self.settings.identity_threshold,
            "background": self.background,
            "correlations": {reading: matrix.as_dict() for reading, matrix in self.correlations.items()},
            "ppmi": {unit: matrix.as_dict() for unit, matrix in self.ppmi.items()},
            "labels": [counts.as_dict() for counts in self.labels],
            "identities": [counts.as_dict() for counts in self.identities],
            "mean_labels": [each.as_dict() for each in self.mean_labels],
            "co_mentions": self.co_mentions.as_dict(),
        }


def audit(annotations: Annotations, *, thresholds: Sequence[float] = TENTHS[1:]) -> DataAudit:
    """Audit the labels and identities of a solution without a model.

    Parameters
    ----------
    annotations : Annotations
        Labels and identities in [0, 1].
    thresholds : sequence of float
        The thresholds to sweep over.

    Returns
    -------
    DataAudit

    Raises
    ------
    ValueError
        If a value is outside [0, 1].

    Notes
    -----
    Hann, Kalil and Payne, section 3 (Figures 1, 2, 3 and 5) and the means in section 4.2.1.
    """
    return DataAudit(
        rows=annotations.size,
        settings=annotations.settings,
        background=annotations.background,
        correlations={reading: label_correlations(annotations, reading) for reading in READINGS},
        ppmi={unit: ppmi(annotations, unit) for unit in UNITS},
        labels=_counts(annotations.labels, thresholds),
        identities=_counts(annotations.identities, thresholds),
        mean_labels=mean_labels(annotations),
        co_mentions=co_mentions(annotations),
    )


def mean_labels(annotations: Annotations) -> tuple[MeanLabel, ...]:
    """Return the mean fraction of each label, first over all rows and then for each identity.

    Returns
    -------
    tuple of MeanLabel

    Examples
    --------
    >>> annotations = Annotations.of({"toxic": [0.75, 0.5, 0, 0]}, {"cat": [1, 0, 1, 0]})
    >>> for each in mean_labels(annotations):
    ...     print(each.identity, each.rows, each.positives, each.mean, each.mean_of_positives)
    None 4 2 0.3125 0.625
    cat 2 1 0.375 0.75
    """
    everywhere: dict[str | None, BoolArray] = {None: np.ones(annotations.size, np.bool_)}
    means = []
    for identity, mentions in (everywhere | dict(annotations.members)).items():
        for label, values in annotations.labels.items():
            kept = mentions & annotations.labelled[label]
            positive = kept & annotations.positive[label]
            means.append(
                MeanLabel(
                    identity,
                    label,
                    int(np.count_nonzero(kept)),
                    int(np.count_nonzero(positive)),
                    mean(values[kept]),
                    mean(values[positive]),
                )
            )
    return tuple(means)


def _counts(columns: Mapping[str, FloatArray], thresholds: Sequence[float]) -> tuple[FractionCounts, ...]:
    return tuple(count_fractions(name, values, thresholds) for name, values in columns.items())

"""Data audit: label shares by identity in a solution, before any model."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from grader.metrics.analysis.annotations.annotations import (
    TENTHS,
    Annotations,
    FractionCounts,
    count_fractions,
)
from grader.metrics.analysis.annotations.association import Reading, label_correlations
from grader.metrics.analysis.annotations.comentions import CoMentions, Unit, co_mentions, ppmi
from grader.metrics.analysis.distributions import mean
from grader.metrics.analysis.matrix import Matrix
from grader.metrics.metric_settings import MetricSettings
from grader.metrics.prepared import BoolArray, FloatArray

READINGS: tuple[Reading, ...] = ("fractions", "binarized")
UNITS: tuple[Unit, ...] = ("comments", "pairs")


@dataclass(frozen=True, slots=True)
class MeanLabel:
    """The mean fraction of a label in the rows that mention an identity, or in all rows.

    Attributes
    ----------
    identity : str or None
        None for all rows.
    label : str
    rows, positives : int
        Rows with the label's fraction known, and how many of them are positive.
    mean : float or None
        Over these rows; None without any.
    mean_of_positives : float or None
        Over the positive ones alone; None without any.
    """

    identity: str | None
    label: str
    rows: int
    positives: int
    mean: float | None
    mean_of_positives: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class DataAudit:
    """Everything that is said about a solution without a model.

    Attributes
    ----------
    rows : int
    settings : MetricSettings
        The thresholds.
    background : {"all", "annotated"}
        What a blank identity means.
    correlations : mapping of Reading to Matrix
        ``"fractions"`` and ``"binarized"``.
    ppmi : mapping of Unit to Matrix
        ``"comments"`` and ``"pairs"``.
    labels, identities : tuple of FractionCounts
        The distribution of each column.
    mean_labels : tuple of MeanLabel
        For all rows and then for each identity, each label.
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
    """Describe a solution without any model.

    Parameters
    ----------
    annotations : Annotations
        Labels and identities in [0, 1].
    thresholds : sequence of float
        Those to sweep over.

    Returns
    -------
    DataAudit

    Raises
    ------
    ValueError
        If a value is outside [0, 1].

    Notes
    -----
    Hann, Kalil and Payne, section 3: Figures 1, 2, 3 and 5; the means of section 4.2.1.
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
    """Return the mean fraction of each label, in all rows and then in those of each identity.

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
    found = []
    for identity, mentions in (everywhere | dict(annotations.members)).items():
        for label, values in annotations.labels.items():
            kept = mentions & annotations.labelled[label]
            positive = kept & annotations.positive[label]
            found.append(
                MeanLabel(
                    identity,
                    label,
                    int(np.count_nonzero(kept)),
                    int(np.count_nonzero(positive)),
                    mean(values[kept]),
                    mean(values[positive]),
                )
            )
    return tuple(found)


def _counts(columns: Mapping[str, FloatArray], thresholds: Sequence[float]) -> tuple[FractionCounts, ...]:
    return tuple(count_fractions(name, values, thresholds) for name, values in columns.items())

"""All five metrics for each identity and label (Hann, Kalil and Payne)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from grader.metrics.analysis.annotations.annotations import Annotations
from grader.metrics.analysis.matrix import Matrix
from grader.metrics.analysis.table import CELLS, MetricTable, metric_table
from grader.metrics.subgroups import Cell

Predictions = Mapping[str, ArrayLike] | ArrayLike
"""The predictions of each label by its name, or one prediction that is held against every label."""


@dataclass(frozen=True, slots=True)
class LabelMatrices:
    """One table of metrics for each label, also to be read as one matrix for each metric.

    Attributes
    ----------
    tables : mapping of str to MetricTable
        For each label that was predicted.
    unpredicted : tuple of str
        The labels without predictions.
    too_small : tuple of (str, int)
        The identities left out with their sizes, because they were below the minimum.
    has_one_prediction : bool
        Whether one column was taken as the prediction of several labels. What a model that predicts one
        label says about another is how the two go together, not how well the other is predicted.
    """

    tables: Mapping[str, MetricTable]
    unpredicted: tuple[str, ...]
    too_small: tuple[tuple[str, int], ...]
    has_one_prediction: bool

    @property
    def overall_aucs(self) -> dict[str, float | None]:
        """The overall AUC of each label: Table 1, and the head of every matrix."""
        return {label: table.overall_auc for label, table in self.tables.items()}

    @property
    def identities(self) -> tuple[str, ...]:
        """The identities that are not too small."""
        table = next(iter(self.tables.values()), None)
        return tuple(line.name for line in table.lines) if table else ()

    def matrix(self, cell: Cell) -> Matrix:
        """Return one metric for each identity and label: Figures 6 to 10.

        Parameters
        ----------
        cell : {"subgroup_auc", "bpsn_auc", "bnsp_auc", "negative_aeg", "positive_aeg"}

        Raises
        ------
        ValueError
            If there is no such metric.
        """
        if cell not in CELLS:
            raise ValueError(f"`cell` must be one of {', '.join(CELLS)}, not {cell!r}.")
        lines = {label: {line.name: line for line in table.lines} for label, table in self.tables.items()}
        reasons = {
            (undefined.subgroup, label): undefined.reason
            for label, table in self.tables.items()
            for undefined in table.undefined
            if undefined.term == cell
        }

        def value_or_reason(identity: str, label: str) -> float | str:
            value: float | None = getattr(lines[label][identity], cell)
            return reasons[identity, label] if value is None else value

        return Matrix.of(cell, self.identities, self.tables, value_or_reason)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "overall_aucs": self.overall_aucs,
            "matrices": {cell: self.matrix(cell).as_dict() for cell in CELLS},
            "sizes": {
                label: {line.name: {"size": line.size, "positives": line.positives} for line in table.lines}
                for label, table in self.tables.items()
            },
            "unpredicted": list(self.unpredicted),
            "too_small": [{"name": name, "size": size} for name, size in self.too_small],
            "has_one_prediction": self.has_one_prediction,
        }


def label_matrices(
    annotations: Annotations,
    predictions: Predictions,
    *,
    minimum_size: int = 0,
) -> LabelMatrices:
    """Measure all five metrics for every identity and every label.

    Parameters
    ----------
    annotations : Annotations
        The labels and identities of n rows. The rows without a label are left out of its column.
    predictions : mapping of str to array_like, or array_like, shape (n,)
        The predictions of each label by its name, or one prediction to be held against every label.
    minimum_size : int
        Identities that fewer rows mention are left out and listed; Hann et al. take 100.

    Returns
    -------
    LabelMatrices

    Raises
    ------
    ValueError
        If a prediction is of no label, or is not one finite number for each row.

    Notes
    -----
    Hann, Kalil and Payne, "Analyzing Identity Mention Bias in Toxic Comment Classification", Table 1 and
    Figures 6 to 10. Their prose on the positive AEG has the sign of Borkan's Definition 2; their values
    and these follow Definition 3: above 0 the subgroup is scored higher.

    Examples
    --------
    >>> annotations = Annotations.of(
    ...     {"toxic": [1, 0, 1, 0], "insult": [0, 0, 1, 0]}, {"cat": [1, 1, 0, 0], "dog": [0, 1, 1, 0]}
    ... )
    >>> found = label_matrices(annotations, {"toxic": [0.9, 0.2, 0.8, 0.3], "insult": [0.1, 0.4, 0.9, 0.1]})
    >>> found.overall_aucs
    {'toxic': 1.0, 'insult': 1.0}
    >>> print(found.matrix("subgroup_auc"))
    identity     toxic    insult
    cat          1.000         -
    dog          1.000     1.000
    """
    sizes = annotations.sizes()
    kept = annotations.mentioned_by(minimum_size)
    by_label = by_labels(annotations, predictions)
    return LabelMatrices(
        tables={label: metric_table(kept.rows(label, scores)) for label, scores in by_label.items()},
        unpredicted=tuple(label for label in annotations.labels if label not in by_label),
        too_small=tuple((name, size) for name, size in sizes.items() if size < minimum_size),
        has_one_prediction=not isinstance(predictions, Mapping) and len(by_label) > 1,
    )


def by_labels(annotations: Annotations, predictions: Predictions) -> dict[str, ArrayLike]:
    """Return the prediction of each label that has one, in the order of the labels.

    Raises
    ------
    ValueError
        If a prediction is of no label.
    """
    if not isinstance(predictions, Mapping):
        return dict.fromkeys(annotations.labels, predictions)
    unknown = [name for name in predictions if name not in annotations.labels]
    if unknown:
        known = ", ".join(annotations.labels)
        raise ValueError(f"`predictions` holds {', '.join(unknown)}; the labels are {known}.")
    return {label: predictions[label] for label in annotations.labels if label in predictions}

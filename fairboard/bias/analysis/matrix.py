"""Identity-by-label matrices of the five bias metrics (Hann, Kalil and Payne)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from fairboard.bias.analysis.annotations import Annotations
from fairboard.bias.analysis.table import CELLS, MetricTable, metric_table
from fairboard.bias.subgroups import Cell


class MatrixCell(NamedTuple):
    """A matrix cell with a defined value."""

    identity: str
    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of identities by labels, as in the heatmaps of Hann, Kalil and Payne.

    Attributes
    ----------
    measure : str
        The name of the measure, such as ``"bpsn_auc"``.
    identities, labels : tuple of str
        The rows and columns of the matrix.
    values : tuple of tuple of float or None
        One tuple for each identity; undefined values are None.
    reasons : mapping of (str, str) to str
        For each undefined cell, by identity and label, a clause that states the reason.
    """

    measure: str
    identities: tuple[str, ...]
    labels: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    reasons: Mapping[tuple[str, str], str]

    @classmethod
    def of(
        cls,
        measure: str,
        identities: Iterable[str],
        labels: Iterable[str],
        value_or_reason: Callable[[str, str], float | str],
    ) -> "Matrix":
        """Create a matrix from a function that returns the value of a cell or a reason.

        The function receives an identity and a label. A string is the reason why the cell is undefined.
        """
        lines, columns = tuple(identities), tuple(labels)
        entries = {(line, column): value_or_reason(line, column) for line in lines for column in columns}
        values = {place: None if isinstance(value, str) else value for place, value in entries.items()}
        return cls(
            measure,
            lines,
            columns,
            tuple(tuple(values[line, column] for column in columns) for line in lines),
            {place: value for place, value in entries.items() if isinstance(value, str)},
        )

    def value(self, identity: str, label: str) -> float | None:
        """Return the value of a cell, or None if it is undefined."""
        return self.values[self.identities.index(identity)][self.labels.index(label)]

    def defined(self) -> list[MatrixCell]:
        """Return the cells with a defined value in row-major order."""
        return [
            MatrixCell(identity, label, value)
            for identity, line in zip(self.identities, self.values, strict=True)
            for label, value in zip(self.labels, line, strict=True)
            if value is not None
        ]

    def lowest(self, k: int) -> list[MatrixCell]:
        """Return the k cells with the lowest values in ascending order; ties stay in matrix order."""
        return sorted(self.defined(), key=lambda cell: cell.value)[:k]

    def highest(self, k: int) -> list[MatrixCell]:
        """Return the k cells with the highest values in descending order; ties stay in matrix order."""
        return sorted(self.defined(), key=lambda cell: -cell.value)[:k]

    def furthest(self, k: int) -> list[MatrixCell]:
        """Return the k cells furthest from 0, furthest first; ties stay in matrix order."""
        return sorted(self.defined(), key=lambda cell: -abs(cell.value))[:k]

    def share_within(self, limit: float) -> float | None:
        """Return the share of values with an absolute value below a limit; None if there are no values."""
        cells = self.defined()
        return sum(abs(cell.value) < limit for cell in cells) / len(cells) if cells else None

    def minus(self, other: "Matrix") -> "Matrix":
        """Return this matrix minus another one, for the identities and labels that both contain."""

        def difference(identity: str, label: str) -> float | str:
            first, second = self.value(identity, label), other.value(identity, label)
            if first is None:
                return self.reasons[identity, label]
            return other.reasons[identity, label] if second is None else first - second

        return Matrix.of(
            self.measure,
            [name for name in self.identities if name in other.identities],
            [name for name in self.labels if name in other.labels],
            difference,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "measure": self.measure,
            "identities": list(self.identities),
            "labels": list(self.labels),
            "values": [list(line) for line in self.values],
            "undefined": [
                {"identity": identity, "label": label, "reason": reason}
                for (identity, label), reason in self.reasons.items()
            ],
        }

    def __str__(self) -> str:
        width = max([len("identity"), *map(len, self.identities)])
        widths = [max(len(label), 8) + 2 for label in self.labels]
        table = [("identity", self.labels)] + [
            (identity, tuple("-" if value is None else f"{value:.3f}" for value in values))
            for identity, values in zip(self.identities, self.values, strict=True)
        ]
        return "\n".join(
            f"{name:<{width}}" + "".join(f"{text:>{w}}" for text, w in zip(texts, widths, strict=True))
            for name, texts in table
        )


Predictions = Mapping[str, ArrayLike] | ArrayLike
"""The predictions of each label by name, or one array of predictions that is compared with every label."""


@dataclass(frozen=True, slots=True)
class LabelMatrices:
    """The metrics for several labels, as one table for each label or one matrix for each metric.

    Attributes
    ----------
    tables : mapping of str to MetricTable
        The metric table of each predicted label.
    unpredicted : tuple of str
        The labels without predictions.
    too_small : tuple of (str, int)
        The identities below the minimum size, which are excluded, with their sizes.
    has_one_prediction : bool
        Whether one column was used as the prediction of several labels. In this case, the metrics of the
        other labels show how they relate to the predicted label, not how well they are predicted.
    """

    tables: Mapping[str, MetricTable]
    unpredicted: tuple[str, ...]
    too_small: tuple[tuple[str, int], ...]
    has_one_prediction: bool

    @property
    def overall_aucs(self) -> dict[str, float | None]:
        """The overall AUC of each label, as in Table 1 and in the header of every matrix."""
        return {label: table.overall_auc for label, table in self.tables.items()}

    @property
    def identities(self) -> tuple[str, ...]:
        """The identities that reach the minimum size."""
        table = next(iter(self.tables.values()), None)
        return tuple(line.name for line in table.lines) if table else ()

    def matrix(self, cell: Cell) -> Matrix:
        """Return the matrix of one metric by identity and label, as in Figures 6 to 10.

        Parameters
        ----------
        cell : {"subgroup_auc", "bpsn_auc", "bnsp_auc", "negative_aeg", "positive_aeg"}

        Raises
        ------
        ValueError
            If `cell` is not one of these metrics.
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
    """Compute all five metrics for every identity and every label.

    Parameters
    ----------
    annotations : Annotations
        The labels and identities of n rows. Rows with a blank label are excluded from its column.
    predictions : mapping of str to array_like, or array_like, shape (n,)
        The predictions of each label by name, or one array of predictions that is compared with every label.
    minimum_size : int
        Minimum number of rows that mention an identity. Smaller identities are excluded and listed in
        `too_small`. Hann et al. use 100.

    Returns
    -------
    LabelMatrices

    Raises
    ------
    ValueError
        If `predictions` contains an unknown label or does not contain one finite number for each row.

    Notes
    -----
    Hann, Kalil and Payne, "Analyzing Identity Mention Bias in Toxic Comment Classification", Table 1 and
    Figures 6 to 10. Their text on the positive AEG uses the sign of Borkan's Definition 2. Their values and
    the values here follow Definition 3: above 0, the subgroup is scored higher.

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
    rows = {label: kept.rows(label, scores) for label, scores in by_label.items()}
    return LabelMatrices(
        tables={label: metric_table(each) for label, each in rows.items()},
        unpredicted=tuple(label for label in annotations.labels if label not in by_label),
        too_small=tuple((name, size) for name, size in sizes.items() if size < minimum_size),
        has_one_prediction=not isinstance(predictions, Mapping) and len(by_label) > 1,
    )


def by_labels(annotations: Annotations, predictions: Predictions) -> dict[str, ArrayLike]:
    """Return the predictions of all predicted labels, in the order of the labels.

    Raises
    ------
    ValueError
        If `predictions` contains an unknown label.
    """
    if not isinstance(predictions, Mapping):
        return dict.fromkeys(annotations.labels, predictions)
    unknown = [name for name in predictions if name not in annotations.labels]
    if unknown:
        known = ", ".join(annotations.labels)
        raise ValueError(f"`predictions` contains unknown labels: {', '.join(unknown)}. Labels: {known}.")
    return {label: predictions[label] for label in annotations.labels if label in predictions}

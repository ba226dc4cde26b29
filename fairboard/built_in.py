"""The common part of the built-in metrics: truth, rows of a split, score."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairboard.interface import (
    ColumnKind,
    Columns,
    ColumnSpec,
    Description,
    Direction,
    Exactness,
    FloatArray,
    MetricResult,
    Options,
    RowArray,
    TermSpec,
    UnsuitableTruth,
)
from fairboard.row_statistics import exact_sum

TARGET, PREDICTION = "target", "prediction"
CodeArray = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class SplitTruth:
    """The true values of the rows of one split, and their positions among all rows.

    `sums` are the exact sums of the row statistics that depend on the truth only.
    """

    rows: RowArray
    truth: NDArray[Any]
    sums: tuple[float, ...] = ()


class BuiltIn(ABC):
    """A metric of one truth column and one or several columns of predictions."""

    name: ClassVar[str]
    title: ClassVar[str]
    sentence: ClassVar[str]
    version: ClassVar[str] = "1"
    direction: ClassVar[Direction] = Direction.HIGHEST
    exactness: ClassVar[Exactness] = Exactness.SUMS
    is_nonnegative: ClassVar[bool] = True

    def __init__(self, options: Options) -> None:
        self.options = options

    @property
    def encoding(self) -> str:
        """The name of the form of encoded predictions."""
        return encoding_of(self.name, self.version, self.options)

    def describe(self) -> Description:
        """Describe the metric."""
        return Description(
            self.title,
            self.sentence,
            self.direction,
            self.exactness,
            self._truth(),
            self._predictions(),
            self._terms(),
            is_nonnegative=self.is_nonnegative,
        )

    def _truth(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(TARGET),)

    def _predictions(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(PREDICTION),)

    def _terms(self) -> tuple[TermSpec, ...]:
        return ()

    def encode(self, predictions: Columns) -> Any:
        """Return the predictions of all rows in the form that the metric computes with."""
        return predictions[PREDICTION]

    def prepare(self, truth: Columns, rows: RowArray) -> SplitTruth:
        """Return the true values of the rows; raise UnsuitableTruth with all reasons."""
        values = truth[TARGET][rows]
        problems = self._problems(values) if rows.size else ["The split has no rows."]
        if problems:
            raise UnsuitableTruth(problems)
        return SplitTruth(rows, self._prepared(values))

    def _problems(self, _truth: NDArray[Any]) -> list[str]:
        return []

    def _prepared(self, truth: NDArray[Any]) -> NDArray[Any]:
        return truth

    @abstractmethod
    def score(self, prepared: SplitTruth, encoded: Any) -> MetricResult:
        """Compute the values of one file on one split."""


class RowStatistics(BuiltIn):
    """A metric that is a function of means of row statistics: first the fixed ones, then those of a file."""

    def fixed(self, _truth: NDArray[Any]) -> tuple[FloatArray, ...]:
        """Return the statistics of each row that depend on the truth only."""
        return ()

    @abstractmethod
    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the statistics of each row."""

    def combine(self, means: Sequence[float]) -> float:
        """Return the score of the means. By default, the first mean."""
        return means[0]

    def prepare(self, truth: Columns, rows: RowArray) -> SplitTruth:
        """Return the true values of the rows with the sums of their statistics; raise UnsuitableTruth."""
        split = super().prepare(truth, rows)
        return SplitTruth(rows, split.truth, tuple(map(exact_sum, self.fixed(split.truth))))

    def score(self, prepared: SplitTruth, encoded: Any) -> MetricResult:
        """Compute the values of one file on one split."""
        sums = [*prepared.sums, *map(exact_sum, self.rows(prepared.truth, encoded[prepared.rows]))]
        score = self.combine([each / prepared.rows.size for each in sums])
        hexadecimal = [each.hex() for each in sums]
        evidence = {"rows": prepared.rows.size, "sums": hexadecimal, "cpu": cpu_features()}
        return MetricResult(score, {}, evidence)


# The evidence has the square of this number of counts.
MOST_CLASSES = 1000


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """The number of rows for each pair of true and predicted class.

    Attributes
    ----------
    counts : ndarray of int64, shape (classes, classes)
        True classes by predicted classes.
    """

    counts: NDArray[np.int64]

    @cached_property
    def size(self) -> int:
        """The number of rows."""
        return int(self.counts.sum())

    @cached_property
    def true(self) -> NDArray[np.int64]:
        """The number of rows of each true class."""
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """The number of rows of each predicted class."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def correct(self) -> NDArray[np.int64]:
        """The number of correct predictions of each class."""
        return np.diagonal(self.counts)


class CellMetric(BuiltIn):
    """A metric of the counts for each pair of true and predicted class: integers only.

    A metric that `compares_classes` is undefined if all rows have the same class, whatever the predictions.
    """

    exactness = Exactness.COUNTS
    compares_classes: ClassVar[bool] = False

    @abstractmethod
    def values(self, cells: ClassCounts) -> Mapping[str, float]:
        """Return `score` and the terms."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        require_classes(options)
        if len(options.classes) > MOST_CLASSES:
            raise ValueError(f"The metric allows at most {MOST_CLASSES:,} classes.")

    def _truth(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(TARGET, ColumnKind.CLASS),)

    def _predictions(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(PREDICTION, ColumnKind.CLASS),)

    def _problems(self, truth: NDArray[Any]) -> list[str]:
        if not self.compares_classes or truth.min() != truth.max():
            return []
        return [f"The metric compares classes, but all rows have the class {self.options.classes[truth[0]]}."]

    def score(self, prepared: SplitTruth, encoded: CodeArray) -> MetricResult:
        """Compute the values of one file on one split."""
        cells = self._count(prepared, encoded)
        values = dict(self.values(cells))
        return MetricResult(values.pop("score"), values, {"cells": cells.counts.tolist()})

    def _count(self, prepared: SplitTruth, encoded: CodeArray) -> ClassCounts:
        classes = len(self.options.classes)
        cells = prepared.truth.astype(np.int64) * classes + encoded[prepared.rows]
        return ClassCounts(np.bincount(cells, minlength=classes**2).reshape(classes, classes))


@cache
def cpu_features() -> str:
    """Return the CPU features, by NumPy's names, on which the last bits of logarithms may depend."""
    names = (np.show_config("dicts") or {})["SIMD Extensions"]
    return " ".join([*names.get("baseline", ()), *names.get("found", ())])


def encoding_of(name: str, version: str, options: Options) -> str:
    """Return a name that contains everything on which the encoding may depend."""
    return f"{name}-{version}-{hashlib.sha256(repr(options).encode()).hexdigest()[:16]}"


def require_classes(options: Options) -> None:
    """Raise ValueError unless there are at least two classes."""
    if len(options.classes) < 2:
        raise ValueError("The metric needs at least two classes.")


def ratio(value: int, by: int) -> float:
    """Return the quotient of two counts; 0 if the divisor is 0."""
    return int(value) / int(by) if by else 0.0

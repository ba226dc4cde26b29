"""The common part of the built-in metrics: truth, rows of a split, score with errors."""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from grader.metrics.interface import (
    ColumnKind,
    Columns,
    ColumnSpec,
    Description,
    Direction,
    Exactness,
    FloatArray,
    LaterErrors,
    MetricResult,
    Options,
    RowArray,
    RowInfluences,
    TermSpec,
    UnsuitableTruth,
)
from grader.metrics.row_statistics import combined, exact_sum, influences_of, standard_error

TARGET, PREDICTION = "target", "prediction"
CodeArray = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class SplitTruth:
    """The true values of the rows of one split, and their positions among all rows.

    `fixed` are the row statistics that depend on the truth only, and `sums` their exact sums.
    """

    rows: RowArray
    truth: NDArray[Any]
    fixed: tuple[FloatArray, ...] = ()
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

    @abstractmethod
    def measure(self, prepared: SplitTruth, encoded: Any) -> RowInfluences:
        """Return the influences of the rows on the score."""


class RowStatistics(BuiltIn):
    """A metric that is a function of means of row statistics: first the fixed ones, then those of a file."""

    def fixed(self, _truth: NDArray[Any]) -> tuple[FloatArray, ...]:
        """Return the statistics of each row that depend on the truth only."""
        return ()

    @abstractmethod
    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the statistics of each row."""

    def combine(self, means: Sequence[complex]) -> complex:
        """Return the score of the means; differentiable where `is_smooth`. By default, the first mean."""
        return means[0]

    def is_smooth(self, _means: Sequence[float]) -> bool:
        """Return whether `combine` is defined at the means; otherwise, the score is `at_edge`."""
        return True

    at_edge: ClassVar[float] = 0.0

    def prepare(self, truth: Columns, rows: RowArray) -> SplitTruth:
        """Return the true values of the rows with their statistics; raise UnsuitableTruth."""
        split = super().prepare(truth, rows)
        fixed = self.fixed(split.truth)
        return SplitTruth(rows, split.truth, fixed, tuple(map(exact_sum, fixed)))

    def score(self, prepared: SplitTruth, encoded: Any) -> MetricResult:
        """Compute the values of one file on one split."""
        sums, score, influences = self._values(prepared, encoded)
        hexadecimal = [each.hex() for each in sums]
        evidence = {"rows": prepared.rows.size, "sums": hexadecimal, "cpu": cpu_features()}
        return MetricResult(score, {}, evidence, LaterErrors(lambda: {"score": standard_error(influences())}))

    def measure(self, prepared: SplitTruth, encoded: Any) -> RowInfluences:
        """Return the influences of the rows on the score."""
        _, score, influences = self._values(prepared, encoded)
        return RowInfluences(score, influences())

    def _values(
        self, prepared: SplitTruth, encoded: Any
    ) -> tuple[list[float], float, Callable[[], FloatArray]]:
        """Return the sums, the score, and a function that computes the influences."""
        of_file = self.rows(prepared.truth, encoded[prepared.rows])
        sums = [*prepared.sums, *map(exact_sum, of_file)]
        count = prepared.rows.size
        means = [each / count for each in sums]
        if not self.is_smooth(means):
            return sums, self.at_edge, lambda: np.zeros(count)
        score, gradient = combined(self.combine, means)
        return sums, score, lambda: influences_of((*prepared.fixed, *of_file), means, gradient)


Slopes = tuple[float, FloatArray]  # a value, and its derivative by the share of each occurring cell
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
    def occurring(self) -> tuple[NDArray[np.intp], ...]:
        """The true and the predicted class of each cell that has rows, in the order of the table."""
        return np.nonzero(self.counts)

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

    def deviations(self, slopes: FloatArray) -> FloatArray:
        """Return the derivatives by the shares of the occurring cells, less their mean over the rows."""
        return slopes - math.fsum(self.counts[self.occurring] / self.size * slopes)

    def standard_error(self, slopes: FloatArray) -> float:
        """Return the standard error of a value from its derivatives, by the delta method."""
        size = self.size
        if size < 2:
            return 0.0
        squares = self.counts[self.occurring] * self.deviations(slopes) ** 2
        return math.sqrt(math.fsum(squares) / (size * (size - 1)))


class CellMetric(BuiltIn):
    """A metric of the counts for each pair of true and predicted class: integers only.

    A metric that `compares_classes` is undefined if all rows have the same class, whatever the predictions.
    """

    exactness = Exactness.COUNTS
    compares_classes: ClassVar[bool] = False

    @abstractmethod
    def values(self, cells: ClassCounts) -> Mapping[str, Slopes]:
        """Return `score` and the terms, each with its derivative by the share of each occurring cell."""

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
        slopes_of = {name: slopes for name, (_, slopes) in values.items()}
        errors = LaterErrors(lambda: {name: cells.standard_error(each) for name, each in slopes_of.items()})
        score, _ = values.pop("score")
        terms = {name: value for name, (value, _) in values.items()}
        return MetricResult(score, terms, {"cells": cells.counts.tolist()}, errors)

    def measure(self, prepared: SplitTruth, encoded: CodeArray) -> RowInfluences:
        """Return the influences of the rows on the score."""
        cells = self._count(prepared, encoded)
        score, slopes = self.values(cells)["score"]
        deviations = np.zeros(cells.counts.shape)
        deviations[cells.occurring] = cells.deviations(slopes)
        return RowInfluences(score, deviations[prepared.truth, encoded[prepared.rows]])

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

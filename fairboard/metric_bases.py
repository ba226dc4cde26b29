"""Base classes of the built-in metrics: options, truth, split rows, score."""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

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
    PreparedRows,
    RowArray,
    TermSpec,
    UnsuitableTruth,
)
from fairboard.row_statistics import exact_sum

TARGET, PREDICTION = "target", "prediction"
NUMBERS = ColumnSpec(TARGET), ColumnSpec(PREDICTION)
CLASSES = ColumnSpec(TARGET, ColumnKind.CLASS), ColumnSpec(PREDICTION, ColumnKind.CLASS)
DEFAULTS = Options()
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True, kw_only=True)
class BuiltIn(ABC):
    """A metric with its options; most have one column of true values and one of predictions.

    Attributes
    ----------
    columns : tuple of ColumnSpec
        The column of the solution, and the columns of a submission.
    terms : callable
        Returns the terms for the options.
    problems : callable
        Returns the reasons why the metric is undefined for the true values of a split.
    prepared : callable
        Converts the true values of a split to the form that the metric computes with.
    compares_classes, orders_classes : bool
        Whether the metric is undefined if all rows have the same class, whatever the predictions, and whether
        the order of the classes matters.
    """

    name: str
    title: str
    sentence: str
    direction: Direction = Direction.HIGHEST
    exactness: Exactness = Exactness.SUMS
    is_nonnegative: bool = True
    compares_classes: bool = False
    orders_classes: bool = False
    columns: tuple[ColumnSpec, ...] = NUMBERS
    terms: Callable[[Options], Iterable[TermSpec]] = lambda _options: ()
    problems: Callable[[NDArray[Any]], list[str]] = lambda _truth: []
    prepared: Callable[[NDArray[Any]], NDArray[Any]] = lambda truth: truth
    options: Options = DEFAULTS
    version: ClassVar[str] = "1"

    def with_options(self, options: Options) -> Self:
        """Return the metric with other options; raise ValueError if they do not suit it."""
        return replace(self, options=options)

    @property
    def encoding(self) -> str:
        """A name that contains everything on which the form of encoded predictions may depend."""
        options = self.options
        used = options.columns, options.classes, options.positive, options.cutoff
        return f"{self.name}-{self.version}-{hashlib.sha256(repr(used).encode()).hexdigest()[:16]}"

    def describe(self) -> Description:
        """Describe the metric."""
        return Description(
            self.title,
            self.sentence,
            self.direction,
            self.exactness,
            self.columns[:1],
            self.columns[1:],
            tuple(self.terms(self.options)),
            self.options.decimals,
            is_nonnegative=self.is_nonnegative,
            compares_classes=self.compares_classes,
            orders_classes=self.orders_classes,
        )

    def encode(self, predictions: Columns) -> Any:
        """Return the predictions of all rows in the form that the metric computes with."""
        return predictions[PREDICTION]

    def prepare(self, truth: Columns, rows: RowArray) -> PreparedRows:
        """Return the true values of the rows; raise UnsuitableTruth with all reasons."""
        values = truth[TARGET][rows]
        problems = self._problems(values) if rows.size else ["The split has no rows."]
        if problems:
            raise UnsuitableTruth(problems)
        return PreparedRows(rows, self.prepared(values))

    def _problems(self, truth: NDArray[Any]) -> list[str]:
        return self.problems(truth)

    @abstractmethod
    def score(self, prepared: PreparedRows, encoded: Any) -> MetricResult:
        """Compute the values of one file on one split."""


@dataclass(frozen=True, kw_only=True)
class RowMetric(BuiltIn):
    """A metric that is a function of means of row statistics: first the fixed ones, then those of a file.

    Attributes
    ----------
    rows : callable
        Returns the statistics of each row from the true values and the predictions.
    fixed : callable
        Returns the statistics of each row that depend on the truth only.
    combine : callable
        Returns the score of the means; by default, the first mean.
    """

    rows: Callable[[NDArray[Any], NDArray[Any]], Sequence[FloatArray]]
    fixed: Callable[[NDArray[Any]], Sequence[FloatArray]] = lambda _truth: ()
    combine: Callable[[Sequence[float]], float] = lambda means: means[0]

    def prepare(self, truth: Columns, rows: RowArray) -> PreparedRows:
        """Return the true values of the rows with the sums of their statistics; raise UnsuitableTruth."""
        split = super().prepare(truth, rows)
        return PreparedRows(rows, (split.data, [*map(exact_sum, self.fixed(split.data))]))

    def score(self, prepared: PreparedRows, encoded: Any) -> MetricResult:
        """Compute the values of one file on one split."""
        truth, fixed = prepared.data
        sums = [*fixed, *map(exact_sum, self.rows(truth, encoded[prepared.rows]))]
        score = self.combine([each / prepared.rows.size for each in sums])
        hexadecimal = [each.hex() for each in sums]
        evidence = {"rows": prepared.rows.size, "sums": hexadecimal, "cpu": cpu_features()}
        return MetricResult(score, {}, evidence)


# The evidence has the square of this number of counts.
MOST_CLASSES = 1000


class ClassCounts(NamedTuple):
    """The number of rows for each pair of true (first axis) and predicted class, and by class."""

    counts: NDArray[np.int64]
    true: list[int]
    predicted: list[int]
    correct: list[int]


@dataclass(frozen=True, kw_only=True)
class ClassMetric(BuiltIn):
    """A metric of the counts for each pair of true and predicted class: integers only.

    `values` returns `score` and the terms.
    """

    values: Callable[[ClassCounts, Options], Mapping[str, float]]
    exactness: Exactness = Exactness.COUNTS
    columns: tuple[ColumnSpec, ...] = CLASSES

    def with_options(self, options: Options) -> Self:
        """Return the metric with other options; raise ValueError if they do not suit it."""
        require_classes(options)
        if len(options.classes) > MOST_CLASSES:
            raise ValueError(f"The metric allows at most {MOST_CLASSES:,} classes.")
        return super().with_options(options)

    def _problems(self, truth: NDArray[Any]) -> list[str]:
        if not self.compares_classes or truth.min() != truth.max():
            return []
        return [f"The metric compares classes, but all rows have the class {self.options.classes[truth[0]]}."]

    def score(self, prepared: PreparedRows, encoded: NDArray[np.integer[Any]]) -> MetricResult:
        """Compute the values of one file on one split."""
        classes = len(self.options.classes)
        cells = prepared.data.astype(np.int64) * classes + encoded[prepared.rows]
        counts = np.bincount(cells, minlength=classes**2).reshape(classes, classes)
        sums = counts.sum(axis=1), counts.sum(axis=0), counts.diagonal()
        values = dict(self.values(ClassCounts(counts, *(each.tolist() for each in sums)), self.options))
        return MetricResult(values.pop("score"), values, {"cells": counts.tolist()})


@cache
def cpu_features() -> str:
    """Return the CPU features, by NumPy's names, on which the last bits of logarithms may depend."""
    names = (np.show_config("dicts") or {})["SIMD Extensions"]
    return " ".join([*names.get("baseline", ()), *names.get("found", ())])


def values_of(classes: Sequence[str]) -> list[Fraction] | None:
    """Return the values of classes that are finite decimal numbers; None if any is another text."""
    if not all(map(_DECIMAL.fullmatch, classes)):
        return None
    return [Fraction(each) for each in classes]


def require_classes(options: Options) -> None:
    """Raise ValueError unless there are at least two classes."""
    if len(options.classes) < 2:
        raise ValueError("The metric needs at least two classes.")


def problem(is_wrong: NDArray[np.bool_], text: str) -> list[str]:
    """Return the text with the number of wrong rows, if any."""
    count = int(np.count_nonzero(is_wrong))
    return [f"{text}: {count}."] if count else []


def ratio(value: int, by: int) -> float:
    """Return the quotient of two counts; 0 if the divisor is 0."""
    return value / by if by else 0.0

"""Metrics of predicted classes and of predicted probabilities of classes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairboard.built_in import (
    PREDICTION,
    TARGET,
    BuiltIn,
    CellMetric,
    ClassCounts,
    RowStatistics,
    ratio,
    require_classes,
)
from fairboard.interface import (
    ColumnKind,
    Columns,
    ColumnSpec,
    Description,
    Direction,
    FloatArray,
    Options,
    TermSpec,
    UnsuitablePredictions,
)

# A probability of exactly 0 or 1 would make the loss of a wrong row infinite.
SMALLEST = float(np.finfo(np.float64).eps)
# Weights of this size can be added for a million classes.
LARGEST_WEIGHT = 1e300


class Accuracy(CellMetric):
    """The share of correct predictions."""

    name = "accuracy"
    title = "Accuracy"
    sentence = "The share of rows whose class is predicted correctly."

    def values(self, cells: ClassCounts) -> Mapping[str, float]:
        """Return the score."""
        return {"score": ratio(cells.correct.sum(), cells.size)}


class BalancedAccuracy(CellMetric):
    """The mean of the recalls of all classes that occur in the truth."""

    name = "balanced_accuracy"
    title = "Balanced accuracy"
    sentence = "The mean over classes of the share of the class's rows that are predicted correctly."

    def _terms(self) -> tuple[TermSpec, ...]:
        return tuple(TermSpec(f"recall_{each}", f"Recall of {each}") for each in self.options.classes)

    def values(self, cells: ClassCounts) -> Mapping[str, float]:
        """Return the score and the recall of each class that occurs."""
        recalls = {
            f"recall_{name}": ratio(cells.correct[place], cells.true[place])
            for place, name in enumerate(self.options.classes)
            if cells.true[place]
        }
        return {"score": mean(list(recalls.values())), **recalls}


class F1(CellMetric):
    """The harmonic mean of precision and recall of the positive class."""

    name = "f1"
    title = "F1"
    sentence = "The harmonic mean of precision and recall of the positive class."
    compares_classes = True

    def __init__(self, options: Options) -> None:
        if len(options.classes) != 2:
            raise ValueError("F1 needs exactly two classes. For more classes, use macro F1.")
        super().__init__(options)
        _positive(options)

    def describe(self) -> Description:
        """Describe the metric; the sentence names the positive class if it was chosen."""
        about, chosen = super().describe(), self.options.positive
        if chosen is None:
            return about
        return replace(about, sentence=f"{self.sentence.removesuffix('.')} {chosen!r}.")

    def _terms(self) -> tuple[TermSpec, ...]:
        return (TermSpec("precision", "Precision"), TermSpec("recall", "Recall"))

    def values(self, cells: ClassCounts) -> Mapping[str, float]:
        """Return the score, the precision and the recall; each is 0 if its divisor is 0."""
        place = _positive(self.options)
        return {
            "score": _f1(cells, place),
            "precision": ratio(cells.correct[place], cells.predicted[place]),
            "recall": ratio(cells.correct[place], cells.true[place]),
        }


class MacroF1(CellMetric):
    """The mean of the F1 of all classes that occur in the truth or in the predictions."""

    name = "macro_f1"
    title = "Macro F1"
    sentence = "The mean over classes of the harmonic mean of precision and recall."

    def _terms(self) -> tuple[TermSpec, ...]:
        return tuple(TermSpec(f"f1_{each}", f"F1 of {each}") for each in self.options.classes)

    def values(self, cells: ClassCounts) -> Mapping[str, float]:
        """Return the score and the F1 of each class that occurs."""
        occurring = cells.true + cells.predicted
        each = {f"f1_{name}": _f1(cells, k) for k, name in enumerate(self.options.classes) if occurring[k]}
        return {"score": mean(list(each.values())), **each}


class MatthewsCorrelation(CellMetric):
    """The correlation between true and predicted classes."""

    name = "mcc"
    is_nonnegative = False
    title = "Matthews correlation coefficient (MCC)"
    sentence = "The correlation between true and predicted classes; 0 for constant predictions."
    compares_classes = True

    def values(self, cells: ClassCounts) -> Mapping[str, float]:
        """Return the score."""
        size, true, predicted = cells.size, cells.true.tolist(), cells.predicted.tolist()
        numerator = int(cells.correct.sum()) * size - _dot(true, predicted)
        squares = (size * size - _dot(predicted, predicted), size * size - _dot(true, true))
        if not all(squares):
            return {"score": 0.0}
        return {"score": numerator / (math.sqrt(squares[0]) * math.sqrt(squares[1]))}


class Kappa(CellMetric):
    """Cohen's kappa: agreement beyond chance."""

    name = "kappa"
    is_nonnegative = False
    title = "Cohen's kappa"
    sentence = "The agreement of true and predicted classes beyond the agreement expected by chance."
    compares_classes = True

    def _weights(self, classes: int) -> NDArray[np.int64]:
        return 1 - np.eye(classes, dtype=np.int64)

    def _expected(self, true: list[int], predicted: list[int]) -> int:
        return sum(true) * sum(predicted) - _dot(true, predicted)

    def values(self, cells: ClassCounts) -> Mapping[str, float]:
        """Return the score; without expected disagreement, it is 0."""
        weights = self._weights(len(self.options.classes))
        size, true, predicted = cells.size, cells.true.tolist(), cells.predicted.tolist()
        observed, expected = int((weights * cells.counts).sum()), self._expected(true, predicted)
        if not expected:
            return {"score": 0.0}
        return {"score": 1 - size * observed / expected}


class QuadraticKappa(Kappa):
    """Cohen's kappa in which a disagreement counts by the square of its distance."""

    name = "quadratic_kappa"
    title = "Quadratic weighted kappa"
    sentence = "Agreement of ordered classes beyond chance; an error counts by the square of its distance."

    def _weights(self, classes: int) -> NDArray[np.int64]:
        places = np.arange(classes, dtype=np.int64)
        return (places[:, None] - places[None, :]) ** 2

    def _expected(self, true: list[int], predicted: list[int]) -> int:
        first = [_dot(counts, range(len(counts))) for counts in (true, predicted)]
        second = [_dot(counts, [k * k for k in range(len(counts))]) for counts in (true, predicted)]
        return second[0] * sum(predicted) + second[1] * sum(true) - 2 * first[0] * first[1]


class LogLoss(RowStatistics):
    """The mean of the negative logarithm of the probability given to the true value, for two classes."""

    name = "log_loss"
    title = "Log loss"
    sentence = "The mean negative logarithm of the probability that was given to the true class."
    direction = Direction.LOWEST

    def _truth(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(TARGET, ColumnKind.NUMBER, 0, 1),)

    def _predictions(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(PREDICTION, ColumnKind.NUMBER, 0, 1),)

    def _problems(self, truth: NDArray[Any]) -> list[str]:
        return not_binary(truth)

    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the loss of each row, with probabilities of at least 2.2e-16."""
        given_truth = np.where(truth == 1, predictions, 1 - predictions)
        return (-np.log(np.clip(given_truth, SMALLEST, 1 - SMALLEST)),)


class Brier(LogLoss):
    """The mean squared difference between the probability and the true value 0 or 1."""

    name = "brier"
    title = "Brier score"
    sentence = "The mean squared difference between the predicted probability and the true value 0 or 1."

    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the squared error of each row."""
        error = predictions - truth
        return (error * error,)


class MultiClassLogLoss(RowStatistics):
    """Log loss with one column of probabilities for each class."""

    name = "multi_class_log_loss"
    title = "Log loss for several classes"
    sentence = (
        "The mean negative logarithm of the probability of the true class; each row is scaled to sum to 1."
    )
    direction = Direction.LOWEST

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        require_classes(options)

    def _truth(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(TARGET, ColumnKind.CLASS),)

    def _predictions(self) -> tuple[ColumnSpec, ...]:
        return tuple(ColumnSpec(each, ColumnKind.NUMBER, 0, LARGEST_WEIGHT) for each in self.options.classes)

    def encode(self, predictions: Columns) -> FloatArray:
        """Return the probabilities, each row scaled to sum to 1; raise UnsuitablePredictions for zeros."""
        table = np.stack([predictions[each] for each in self.options.classes], axis=1)
        # Added column by column, because the order of a sum over an axis depends on the machine.
        sums = np.zeros(len(table))
        for column in table.T:
            sums += column
        if not sums.all():
            raise UnsuitablePredictions(
                "A row needs at least one probability above 0.", np.flatnonzero(sums == 0).tolist()
            )
        return table / sums[:, None]

    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the loss of each row, with probabilities of at least 2.2e-16."""
        of_truth = predictions[np.arange(truth.size), truth]
        return (-np.log(np.clip(of_truth, SMALLEST, 1 - SMALLEST)),)


def not_binary(truth: NDArray[Any]) -> list[str]:
    """Return a problem if there are values other than 0 and 1."""
    count = int(np.count_nonzero((truth != 0) & (truth != 1)))
    return [f"The target must be 0 or 1; rows with another value: {count}."] if count else []


def _positive(options: Options) -> int:
    """Return the place of the positive class."""
    if options.positive is None:
        return len(options.classes) - 1
    if options.positive not in options.classes:
        raise ValueError(f"{options.positive!r} is not one of the classes.")
    return options.classes.index(options.positive)


def _f1(cells: ClassCounts, place: int) -> float:
    return ratio(2 * cells.correct[place], cells.true[place] + cells.predicted[place])


def mean(values: Sequence[float]) -> float:
    """Return the mean, rounded as little as possible."""
    return math.fsum(values) / len(values)


def _dot(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(one, other, strict=True))


CLASSIFICATION: tuple[type[BuiltIn], ...] = (
    Accuracy,
    BalancedAccuracy,
    F1,
    MacroF1,
    MatthewsCorrelation,
    Kappa,
    QuadraticKappa,
    LogLoss,
    MultiClassLogLoss,
    Brier,
)

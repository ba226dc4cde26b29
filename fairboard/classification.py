"""Classification metrics for predicted classes and class probabilities."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import fmean
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairboard.interface import (
    ColumnKind,
    Columns,
    ColumnSpec,
    Direction,
    FloatArray,
    Options,
    TermSpec,
    UnsuitablePredictions,
)
from fairboard.metric_bases import (
    CLASSES,
    PREDICTION,
    TARGET,
    BuiltIn,
    ClassCounts,
    ClassMetric,
    RowMetric,
    problem,
    ratio,
    require_classes,
    values_of,
)
from fairboard.regression import squared_errors

# A probability of exactly 0 or 1 would make the loss of a wrong row infinite.
SMALLEST = float(np.finfo(np.float64).eps)
# Weights of this size can be added for a million classes.
LARGEST_WEIGHT = 1e300
_ROUNDING = 1e-4  # of probabilities with a few decimals
FROM_0_TO_1 = ColumnSpec(TARGET, ColumnKind.NUMBER, 0, 1), ColumnSpec(PREDICTION, ColumnKind.NUMBER, 0, 1)


def _balanced_accuracy(cells: ClassCounts, options: Options) -> Mapping[str, float]:
    """Return the mean of the recalls of all classes that occur in the truth, and each recall."""
    recalls = {
        f"recall_{name}": ratio(cells.correct[place], cells.true[place])
        for place, name in enumerate(options.classes)
        if cells.true[place]
    }
    return {"score": fmean(recalls.values()), **recalls}


def _f1(cells: ClassCounts, options: Options) -> Mapping[str, float]:
    """Return F1, precision and recall of the positive class; each is 0 if its divisor is 0."""
    place = _positive(options)
    return {
        "score": _f1_of(cells, place),
        "precision": ratio(cells.correct[place], cells.predicted[place]),
        "recall": ratio(cells.correct[place], cells.true[place]),
    }


def _macro_f1(cells: ClassCounts, options: Options) -> Mapping[str, float]:
    """Return the mean of the F1 of all classes that occur in truth or predictions, and each F1."""
    occurring = [true + predicted for true, predicted in zip(cells.true, cells.predicted, strict=True)]
    each = {f"f1_{name}": _f1_of(cells, k) for k, name in enumerate(options.classes) if occurring[k]}
    return {"score": fmean(each.values()), **each}


def _correlation(cells: ClassCounts, _options: Options) -> Mapping[str, float]:
    size, true, predicted = sum(cells.true), cells.true, cells.predicted
    numerator = sum(cells.correct) * size - _dot(true, predicted)
    squares = (size * size - _dot(predicted, predicted), size * size - _dot(true, true))
    if not all(squares):
        return {"score": 0.0}
    return {"score": numerator / (math.sqrt(squares[0]) * math.sqrt(squares[1]))}


def _kappa(cells: ClassCounts, _options: Options) -> Mapping[str, float]:
    true, predicted = cells.true, cells.predicted
    observed, expected = sum(true) - sum(cells.correct), sum(true) * sum(predicted) - _dot(true, predicted)
    return _agreement(cells, observed, expected)


def _quadratic_kappa(cells: ClassCounts, options: Options) -> Mapping[str, float]:
    """Weight disagreements by the squared distance of the classes' values, or of their positions."""
    values = values_of(options.classes)
    values = [Fraction(place) for place in range(len(cells.true))] if values is None else values
    scale = math.lcm(*(each.denominator for each in values))
    whole = [int((each - min(values)) * scale) for each in values]
    pairs = np.argwhere(cells.counts).tolist()
    observed = sum((whole[i] - whole[j]) ** 2 * int(cells.counts[i, j]) for i, j in pairs)
    first = [_dot(counts, whole) for counts in (cells.true, cells.predicted)]
    second = [_dot(counts, [each * each for each in whole]) for counts in (cells.true, cells.predicted)]
    expected = second[0] * sum(cells.predicted) + second[1] * sum(cells.true) - 2 * first[0] * first[1]
    return _agreement(cells, observed, expected)


def _agreement(cells: ClassCounts, observed: int, expected: int) -> Mapping[str, float]:
    """Return 1 minus the ratio of observed and expected disagreement; 0 if none is expected."""
    return {"score": 1 - sum(cells.true) * observed / expected if expected else 0.0}


def _positive(options: Options) -> int:
    """Return the place of the positive class."""
    if options.positive is None:
        return len(options.classes) - 1
    if options.positive not in options.classes:
        raise ValueError(f"{options.positive!r} is not one of the classes.")
    return options.classes.index(options.positive)


def _f1_of(cells: ClassCounts, place: int) -> float:
    return ratio(2 * cells.correct[place], cells.true[place] + cells.predicted[place])


def _dot(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(one, other, strict=True))


@dataclass(frozen=True, kw_only=True)
class F1(ClassMetric):
    """A metric of two classes; the sentence names the positive class."""

    def with_options(self, options: Options) -> Self:
        """Return the metric with other options; raise ValueError if they do not suit it."""
        if len(options.classes) != 2:
            raise ValueError("F1 needs exactly two classes. For more classes, use macro F1.")
        positive = options.classes[_positive(options)]
        if options.positive is None and values_of(options.classes) is None:
            names = " or ".join(map(repr, options.classes))
            raise ValueError(f"The classes are texts, so choose the `positive` class: {names}.")
        return replace(self, options=options, sentence=f"{self.sentence.removesuffix('.')} {positive!r}.")


def _terms_of_classes(name: str, title: str) -> Any:
    def terms(options: Options) -> Iterator[TermSpec]:
        return (TermSpec(f"{name}_{each}", f"{title} of {each}") for each in options.classes)

    return terms


def _log_losses(truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
    return (_loss(np.where(truth == 1, predictions, 1 - predictions)),)


def _loss(probabilities: FloatArray) -> FloatArray:
    """Return the negative logarithms of the probabilities of the truth, of at least 2.2e-16."""
    return np.asarray(-np.log(np.clip(probabilities, SMALLEST, 1 - SMALLEST)))


def not_binary(truth: NDArray[Any]) -> list[str]:
    """Return a problem if there are values other than 0 and 1."""
    return problem((truth != 0) & (truth != 1), "The target must be 0 or 1; rows with another value")


@dataclass(frozen=True, kw_only=True)
class ClassProbabilities(RowMetric):
    """A metric with one column of probabilities for each class."""

    def with_options(self, options: Options) -> Self:
        """Return the metric with other options; raise ValueError if they do not suit it."""
        require_classes(options)
        weights = (ColumnSpec(each, ColumnKind.NUMBER, 0, LARGEST_WEIGHT) for each in options.classes)
        return replace(self, options=options, columns=(*self.columns[:1], *weights))

    def remarks(self, predictions: Columns) -> list[str]:
        """State the number of rows that are scaled."""
        sums = sum((predictions[each] for each in self.options.classes), np.zeros(1))
        count = int(np.count_nonzero(np.abs(sums - 1) > _ROUNDING))
        return [f"{count:,} rows have probabilities that do not sum to 1; they are scaled."] if count else []

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


CLASSIFICATION: tuple[BuiltIn, ...] = (
    ClassMetric(
        name="accuracy",
        title="Accuracy",
        sentence="The share of rows whose class is predicted correctly.",
        values=lambda cells, _options: {"score": ratio(sum(cells.correct), sum(cells.true))},
    ),
    ClassMetric(
        name="balanced_accuracy",
        title="Balanced accuracy",
        sentence="The mean over classes of the share of the class's rows that are predicted correctly.",
        values=_balanced_accuracy,
        terms=_terms_of_classes("recall", "Recall"),
    ),
    F1(
        name="f1",
        title="F1",
        sentence="The harmonic mean of precision and recall of the positive class.",
        values=_f1,
        terms=lambda _options: (TermSpec("precision", "Precision"), TermSpec("recall", "Recall")),
        compares_classes=True,
    ),
    ClassMetric(
        name="macro_f1",
        title="Macro F1",
        sentence="The mean over classes of the harmonic mean of precision and recall.",
        values=_macro_f1,
        terms=_terms_of_classes("f1", "F1"),
    ),
    ClassMetric(
        name="mcc",
        title="Matthews correlation coefficient (MCC)",
        sentence="The correlation between true and predicted classes; 0 for constant predictions.",
        values=_correlation,
        is_nonnegative=False,
        compares_classes=True,
    ),
    ClassMetric(
        name="kappa",
        title="Cohen's kappa",
        sentence="The agreement of true and predicted classes beyond the agreement expected by chance.",
        values=_kappa,
        is_nonnegative=False,
        compares_classes=True,
    ),
    ClassMetric(
        name="quadratic_kappa",
        title="Quadratic weighted kappa",
        sentence="Agreement of ordered classes beyond chance; an error counts by the square of its distance, "
        "which is the difference of numbers or of positions in the order.",
        orders_classes=True,
        values=_quadratic_kappa,
        is_nonnegative=False,
        compares_classes=True,
    ),
    LOG_LOSS := RowMetric(
        name="log_loss",
        title="Log loss",
        sentence="The mean negative logarithm of the probability that was given to the true class.",
        rows=_log_losses,
        direction=Direction.LOWEST,
        columns=FROM_0_TO_1,
        problems=not_binary,
    ),
    ClassProbabilities(
        name="multi_class_log_loss",
        title="Log loss for several classes",
        sentence="The mean negative logarithm of the probability of the true class; each row is scaled to "
        "sum to 1.",
        rows=lambda truth, table: (_loss(table[np.arange(truth.size), truth]),),
        direction=Direction.LOWEST,
        columns=CLASSES,
    ),
    replace(
        LOG_LOSS,
        name="brier",
        title="Brier score",
        sentence="The mean squared difference between the predicted probability and the true value 0 or 1.",
        rows=squared_errors,
    ),
)

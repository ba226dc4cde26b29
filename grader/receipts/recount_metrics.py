"""Second implementation of the built-in metrics: their definitions in plain Python, with exact sums."""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

# As in the first implementation, a probability is at least this far from 0 and 1.
_SMALLEST = 2.0**-52
_LARGEST = 1e290


@dataclass(frozen=True, slots=True)
class RecountOptions:
    """The parameters of a metric: predicted columns, classes in order, positive class, cutoff of MAP@k."""

    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    positive: str | None = None
    cutoff: int = 5


@dataclass(frozen=True, slots=True)
class RecountedValue:
    """A score with its terms."""

    score: float
    terms: Mapping[str, float]


Values = Mapping[str, Sequence[Any]]


def recount_metric(name: str, options: RecountOptions, truth: Values, predictions: Values) -> RecountedValue:
    """Return the values of one split.

    Parameters
    ----------
    name : str
        The name of a built-in metric other than that of bias.
    options : RecountOptions
    truth, predictions : mapping of str to sequence
        The columns, with rows in the same order: numbers as float, classes as str, lists of classes as
        sequences of str.

    Raises
    ------
    KeyError
        There is no such metric.
    """
    if name.startswith("mean_"):
        one = _OF_ONE_COLUMN[name.removeprefix("mean_")]
        terms = {each: one(truth[each], predictions[each]) for each in options.columns}
        return RecountedValue(math.fsum(terms.values()) / len(terms), terms)
    if name in _OF_ONE_COLUMN:
        return RecountedValue(_OF_ONE_COLUMN[name](truth["target"], predictions["prediction"]), {})
    if name == "multi_class_log_loss":
        return RecountedValue(_multi_class_log_loss(options, truth["target"], predictions), {})
    if name == "map_at_k":
        lists = (truth["target"], predictions["prediction"])
        return RecountedValue(_mean_average_precision(options.cutoff, *lists), {})
    pairs = Counter(zip(truth["target"], predictions["prediction"], strict=True))
    return _OF_CLASSES[name](_Cells(options, pairs))


class _Cells:
    """The numbers of rows by true and predicted class."""

    def __init__(self, options: RecountOptions, pairs: Counter[tuple[str, str]]) -> None:
        self.options, self.pairs = options, pairs
        self.rows = pairs.total()
        self.true = {name: sum(n for (one, _), n in pairs.items() if one == name) for name in options.classes}
        self.predicted = {
            name: sum(n for (_, other), n in pairs.items() if other == name) for name in options.classes
        }

    def correct(self, name: str) -> int:
        return self.pairs[name, name]

    def share(self, name: str, total: int) -> Fraction:
        return Fraction(self.correct(name), total) if total else Fraction(0)

    def f1(self, name: str) -> Fraction:
        total = self.true[name] + self.predicted[name]
        return Fraction(2 * self.correct(name), total) if total else Fraction(0)


def _accuracy(cells: _Cells) -> RecountedValue:
    correct = sum(map(cells.correct, cells.options.classes))
    return RecountedValue(float(Fraction(correct, cells.rows)), {})


def _balanced_accuracy(cells: _Cells) -> RecountedValue:
    recalls = {
        f"recall_{name}": cells.share(name, cells.true[name])
        for name in cells.options.classes
        if cells.true[name]
    }
    return _mean_of(recalls)


def _f1(cells: _Cells) -> RecountedValue:
    name = cells.options.positive or cells.options.classes[-1]
    precision, recall = cells.share(name, cells.predicted[name]), cells.share(name, cells.true[name])
    return RecountedValue(float(cells.f1(name)), {"precision": float(precision), "recall": float(recall)})


def _macro_f1(cells: _Cells) -> RecountedValue:
    return _mean_of(
        {
            f"f1_{name}": cells.f1(name)
            for name in cells.options.classes
            if cells.true[name] + cells.predicted[name]
        }
    )


def _mean_of(terms: Mapping[str, Fraction]) -> RecountedValue:
    mean = sum(terms.values(), Fraction(0)) / len(terms)
    return RecountedValue(float(mean), {name: float(value) for name, value in terms.items()})


def _matthews_correlation(cells: _Cells) -> RecountedValue:
    names = cells.options.classes
    agreeing = sum(map(cells.correct, names)) * cells.rows
    chance = sum(cells.true[name] * cells.predicted[name] for name in names)
    spread = [
        cells.rows**2 - sum(count**2 for count in counts.values()) for counts in (cells.true, cells.predicted)
    ]
    if not all(spread):
        return RecountedValue(0.0, {})
    return RecountedValue(_over_root(agreeing - chance, spread[0] * spread[1]), {})


def _kappa_of(weight: Callable[[int, int], int]) -> Callable[[_Cells], RecountedValue]:
    def kappa(cells: _Cells) -> RecountedValue:
        names = list(enumerate(cells.options.classes))
        observed = expected = 0
        for place, name in names:
            for other_place, other in names:
                distance = weight(place, other_place)
                observed += distance * cells.pairs[name, other]
                expected += distance * cells.true[name] * cells.predicted[other]
        score = 1 - Fraction(cells.rows * observed, expected) if expected else Fraction(0)
        return RecountedValue(float(score), {})

    return kappa


def _mean_of_rows(
    loss: Callable[[float, float], float],
) -> Callable[[Sequence[float], Sequence[float]], float]:
    def mean(truth: Sequence[float], predictions: Sequence[float]) -> float:
        return math.fsum(map(loss, truth, predictions)) / len(truth)

    return mean


def _negative_log(probability: float) -> float:
    return -math.log(min(max(probability, _SMALLEST), 1 - _SMALLEST))


def _log_loss(truth: float, probability: float) -> float:
    return _negative_log(probability if truth == 1 else 1 - probability)


def _squared_error(truth: float, prediction: float) -> float:
    return (prediction - truth) * (prediction - truth)


def _squared_log_error(truth: float, prediction: float) -> float:
    return _squared_error(math.log1p(truth), math.log1p(prediction))


def _relative_error(truth: float, prediction: float) -> float:
    return min(abs((prediction - truth) / truth), _LARGEST)


def _root_of_mean(
    loss: Callable[[float, float], float],
) -> Callable[[Sequence[float], Sequence[float]], float]:
    mean = _mean_of_rows(loss)
    return lambda truth, predictions: math.sqrt(mean(truth, predictions))


def _r_squared(truth: Sequence[float], predictions: Sequence[float]) -> float:
    exact = list(map(Fraction, truth))
    center = sum(exact, Fraction(0)) / len(exact)
    errors = sum(((Fraction(p) - t) ** 2 for t, p in zip(exact, predictions, strict=True)), Fraction(0))
    return float(1 - errors / sum(((t - center) ** 2 for t in exact), Fraction(0)))


def _pearson(truth: Sequence[float], predictions: Sequence[float]) -> float:
    return _correlation(list(map(Fraction, truth)), list(map(Fraction, predictions)))


def _spearman(truth: Sequence[float], predictions: Sequence[float]) -> float:
    return _correlation(_ranks(truth), _ranks(predictions))


def _ranks(values: Sequence[float]) -> list[Fraction]:
    """Return the mean rank of each value among all, starting at 1."""
    ordered = sorted(values)
    return [Fraction(bisect_left(ordered, value) + bisect_right(ordered, value) + 1, 2) for value in values]


def _correlation(one: Sequence[Fraction], other: Sequence[Fraction]) -> float:
    centers = [sum(values, Fraction(0)) / len(values) for values in (one, other)]
    x, y = (
        [value - center for value in values] for values, center in zip((one, other), centers, strict=True)
    )
    product = sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))
    squares = [sum((a * a for a in values), Fraction(0)) for values in (x, y)]
    return _over_root(product, squares[0] * squares[1]) if all(squares) else 0.0


def _over_root(value: Fraction | int, square: Fraction | int) -> float:
    """Return a value divided by a square root; both may be outside the range of floats."""
    return math.copysign(math.sqrt(Fraction(value) ** 2 / square), value)


def _roc_auc(truth: Sequence[float], predictions: Sequence[float]) -> float:
    negatives = sorted(p for t, p in zip(truth, predictions, strict=True) if t != 1)
    positives = [p for t, p in zip(truth, predictions, strict=True) if t == 1]
    wins = sum(bisect_left(negatives, p) + bisect_right(negatives, p) for p in positives)
    return float(Fraction(wins, 2 * len(positives) * len(negatives)))


def _average_precision(truth: Sequence[float], predictions: Sequence[float]) -> float:
    everything = sorted(predictions)
    positives = sorted(p for t, p in zip(truth, predictions, strict=True) if t == 1)
    precisions = [
        Fraction(len(positives) - bisect_left(positives, p), len(everything) - bisect_left(everything, p))
        for p in positives
    ]
    return float(sum(precisions, Fraction(0)) / len(positives))


def _multi_class_log_loss(options: RecountOptions, truth: Sequence[str], predictions: Values) -> float:
    losses = []
    for row, name in enumerate(truth):
        total = 0.0
        for each in options.classes:
            total += predictions[each][row]
        losses.append(_negative_log(predictions[name][row] / total))
    return math.fsum(losses) / len(losses)


def _mean_average_precision(
    cutoff: int, truth: Sequence[Sequence[str]], predictions: Sequence[Sequence[str]]
) -> float:
    total = Fraction(0)
    for names, guesses in zip(truth, predictions, strict=True):
        hits, precision = set[str](), Fraction(0)
        for place, name in enumerate(guesses[:cutoff], 1):
            if name in names and name not in hits:
                hits.add(name)
                precision += Fraction(len(hits), place)
        total += precision / min(len(set(names)), cutoff)
    return float(total / len(truth))


_OF_CLASSES: Mapping[str, Callable[[_Cells], RecountedValue]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "f1": _f1,
    "macro_f1": _macro_f1,
    "mcc": _matthews_correlation,
    "kappa": _kappa_of(lambda one, other: int(one != other)),
    "quadratic_kappa": _kappa_of(lambda one, other: (one - other) ** 2),
}
_OF_ONE_COLUMN: Mapping[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "log_loss": _mean_of_rows(_log_loss),
    "brier": _mean_of_rows(_squared_error),
    "rmse": _root_of_mean(_squared_error),
    "mae": _mean_of_rows(lambda truth, prediction: abs(prediction - truth)),
    "rmsle": _root_of_mean(_squared_log_error),
    "mape": _mean_of_rows(_relative_error),
    "r2": _r_squared,
    "pearson": _pearson,
    "spearman": _spearman,
    "roc_auc": _roc_auc,
    "average_precision": _average_precision,
}

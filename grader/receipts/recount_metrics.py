"""Second implementation of the built-in metrics: their definitions in plain Python, with exact sums."""

import math
import operator
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from grader.receipts.recount import power_mean

# As in the first implementation, a probability is at least this far from 0 and 1.
_SMALLEST = 2.0**-52
_LARGEST = 1e290
_POWER = 5.0
_RELATIVE = 1e-12
REPORTED = "reported"

Kind = Literal["number", "class", "classes"]  # The last one is a list of classes.
OneColumn = Callable[[Sequence[float], Sequence[float]], "RecountedValue"]


@dataclass(frozen=True, slots=True)
class RecountOptions:
    """The parameters of a metric: predicted columns, classes in order, positive class, cutoff of MAP@k."""

    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    positive: str | None = None
    cutoff: int = 5


@dataclass(frozen=True, slots=True)
class NamedSettings:
    """The settings of a metric other than that of bias, as stored in its scoring version.

    `base` is the metric of one column. `targets` and `predictions` are the columns of the canonical form and
    of a submission, with values of a `kind`. `is_exact` is true if the score is computed from counts, not
    from sums of numbers of the rows. `weight` is the weight of the overall value in the score; the rest is
    that of the power mean over `scored_groups`, which are columns and values. `reported` are further metrics
    whose scores are terms.
    """

    name: str
    base: str
    options: RecountOptions
    weight: float
    targets: tuple[str, ...]
    kind: Kind
    predictions: tuple[str, ...]
    predicted_kind: Kind
    groups: tuple[str, ...]
    scored_groups: tuple[tuple[str, str], ...]
    is_exact: bool
    reported: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "NamedSettings":
        """Create settings from ``{"name": …, "columns": […], …}``; raise KeyError for an unknown metric."""
        name, columns, classes = data["name"], tuple(data["columns"]), tuple(data["classes"])
        reported = tuple(data.get(REPORTED, ()))
        if unknown := {name, *reported} - _METRICS:
            raise KeyError(min(unknown))
        is_probability = name == _MULTI_CLASS
        kind: Kind = "class" if is_probability or name in _OF_CLASSES else "number"
        kind = "classes" if name == "map_at_k" else kind
        return cls(
            name=name,
            base=_base(name),
            options=RecountOptions(columns, classes, data["positive"], data["cutoff"]),
            weight=float(data["weight"]),
            targets=columns or ("target",),
            kind=kind,
            predictions=classes if is_probability else columns or ("prediction",),
            predicted_kind="number" if is_probability else kind,
            groups=tuple(sorted(data["groups"])),
            scored_groups=tuple((column, value) for column, value in data["scored_groups"]),
            is_exact=_base(name) in _EXACT,
            reported=reported,
        )

    def of_term(self, name: str) -> "NamedSettings":
        """Return the settings of the metric that computes a term: a reported one, or that of the score."""
        if name not in self.reported:
            return self
        return replace(self, name=name, base=_base(name), is_exact=_base(name) in _EXACT)

    def for_file(self, columns: Iterable[Iterable[Any]]) -> "NamedSettings":
        """Return the settings without reported metrics that do not accept all predictions of a file."""
        values = {each for column in columns for each in column} if self.reported else ()
        domains = {each: _DOMAINS.get(_base(each)) for each in self.reported}
        kept = [
            name for name, span in domains.items() if not span or all(span[0] <= v <= span[1] for v in values)
        ]
        return replace(self, reported=tuple(kept))

    def leeway(self, value: float, least: float = 1.0) -> float:
        """Return how far a value computed on another machine may be from this one.

        Values computed from counts are identical to the last bit. Logarithms differ in the last bit, so sums
        may differ by 1e-12 of the value, or of `least` if differences of nearly equal numbers are added.
        """
        if self.is_exact:
            return 0.0
        return _RELATIVE * max(abs(value), least if self.base in _OF_DIFFERENCES else 0.0)


@dataclass(frozen=True, slots=True)
class RecountedValue:
    """A score with its terms, the counts or sums from which it follows, and the values of each group."""

    score: float
    terms: Mapping[str, float] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, tuple[int, float]]] = field(default_factory=dict)


Values = Mapping[str, Sequence[Any]]


def recount_groups(settings: NamedSettings, truth: Values, predictions: Values) -> RecountedValue:
    """Return the values of one split, with those of each group in which the metric is defined.

    The arguments are those of `recount_metric`; `truth` also has the group columns. A row with a blank is in
    no group.
    """
    overall = recount_metric(settings.name, settings.options, truth, predictions)
    places = dict[tuple[str, str], list[int]]()
    for column in settings.groups:
        for row, value in enumerate(truth[column]):
            if value:
                places.setdefault((column, value), []).append(row)
    tables: dict[str, dict[str, tuple[int, float]]] = {column: {} for column in settings.groups}
    for (column, value), rows in sorted(places.items()):
        part, predicted = (
            {name: [values[row] for row in rows] for name, values in side.items()}
            for side in (truth, predictions)
        )
        least = _LEAST_SPREADS.get(settings.base)
        is_one_class = settings.base in _COMPARING_CLASSES and len({*part["target"]}) == 1
        if not is_one_class and (
            least is None or all(max(part[each]) - min(part[each]) > least for each in settings.targets)
        ):
            one = recount_metric(settings.name, settings.options, part, predicted)
            tables[column][value] = len(rows), one.score
    others = {each: recount_metric(each, settings.options, truth, predictions) for each in settings.reported}
    terms = {**overall.terms, **{name: each.score for name, each in others.items()}}
    evidence = {**overall.evidence, REPORTED: {name: each.evidence for name, each in others.items()}}
    overall = replace(overall, terms=terms, evidence=evidence if others else overall.evidence)
    if settings.weight == 1:
        return replace(overall, groups=tables)
    scores = [Fraction(tables[column][value][1]) for column, value in settings.scored_groups]
    power = _POWER if settings.base in _LOWEST_IS_BEST else -_POWER
    pivot = max(scores)  # so that small numbers keep their digits
    mean = float(pivot * power_mean([each / pivot for each in scores], power)) if pivot else 0.0
    score = math.fsum([settings.weight * overall.score, (1 - settings.weight) * mean])
    return RecountedValue(score, {"overall": overall.score, **overall.terms}, overall.evidence, tables)


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
        values = {each: one(truth[each], predictions[each]) for each in options.columns}
        terms = {each: value.score for each, value in values.items()}
        evidence = {each: value.evidence for each, value in values.items()}
        return RecountedValue(math.fsum(terms.values()) / len(terms), terms, evidence)
    if name in _OF_ONE_COLUMN:
        return _OF_ONE_COLUMN[name](truth["target"], predictions["prediction"])
    if name == _MULTI_CLASS:
        return _multi_class_log_loss(options, truth["target"], predictions)
    if name == "map_at_k":
        return _mean_average_precision(options.cutoff, truth["target"], predictions["prediction"])
    cells = _Cells(options, Counter(zip(truth["target"], predictions["prediction"], strict=True)))
    counts = [[cells.pairs[one, other] for other in options.classes] for one in options.classes]
    return replace(_OF_CLASSES[name](cells), evidence={"cells": counts})


class _Cells:
    """The numbers of rows by true and predicted class."""

    def __init__(self, options: RecountOptions, pairs: Counter[tuple[str, str]]) -> None:
        self.options, self.pairs = options, pairs
        self.rows = pairs.total()
        self.true, self.predicted = (dict.fromkeys(options.classes, 0) for _ in range(2))
        for (one, other), count in pairs.items():
            self.true[one] += count
            self.predicted[other] += count

    def correct(self, name: str) -> int:
        return self.pairs[name, name]

    def share(self, name: str, total: int) -> float:
        return self.correct(name) / total if total else 0.0

    def f1(self, name: str) -> float:
        total = self.true[name] + self.predicted[name]
        return 2 * self.correct(name) / total if total else 0.0


def _accuracy(cells: _Cells) -> RecountedValue:
    return RecountedValue(sum(map(cells.correct, cells.options.classes)) / cells.rows)


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
    return RecountedValue(cells.f1(name), {"precision": precision, "recall": recall})


def _macro_f1(cells: _Cells) -> RecountedValue:
    return _mean_of(
        {
            f"f1_{name}": cells.f1(name)
            for name in cells.options.classes
            if cells.true[name] + cells.predicted[name]
        }
    )


def _mean_of(terms: Mapping[str, float]) -> RecountedValue:
    return RecountedValue(math.fsum(terms.values()) / len(terms), terms)


def _matthews_correlation(cells: _Cells) -> RecountedValue:
    names = cells.options.classes
    agreeing = sum(map(cells.correct, names)) * cells.rows
    chance = sum(cells.true[name] * cells.predicted[name] for name in names)
    spread = [
        cells.rows**2 - sum(count**2 for count in counts.values()) for counts in (cells.true, cells.predicted)
    ]
    return RecountedValue(_over_roots(agreeing - chance, *spread))


def _kappa_of(weight: Callable[[int, int], int]) -> Callable[[_Cells], RecountedValue]:
    def kappa(cells: _Cells) -> RecountedValue:
        names = list(enumerate(cells.options.classes))
        observed = expected = 0
        for place, name in names:
            for other_place, other in names:
                distance = weight(place, other_place)
                observed += distance * cells.pairs[name, other]
                expected += distance * cells.true[name] * cells.predicted[other]
        return RecountedValue(1 - cells.rows * observed / expected if expected else 0.0)

    return kappa


def _summed(score: float, rows: int, *sums: float) -> RecountedValue:
    return RecountedValue(score, {}, {"rows": rows, "sums": [each.hex() for each in sums]})


def _mean_of_rows(
    loss: Callable[[float, float], float], result: Callable[[float], float] = float
) -> OneColumn:
    def mean(truth: Sequence[float], predictions: Sequence[float]) -> RecountedValue:
        total = math.fsum(map(loss, truth, predictions))
        return _summed(result(total / len(truth)), len(truth), total)

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


def _deviations(values: Sequence[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]


def _r_squared(truth: Sequence[float], predictions: Sequence[float]) -> RecountedValue:
    spread = math.fsum(each * each for each in _deviations(truth))
    errors = math.fsum(map(_squared_error, truth, predictions))
    ratio = (errors / len(truth)) / (spread / len(truth))
    return _summed(1 - ratio if ratio < _LARGEST else -_LARGEST, len(truth), spread, errors)


def _pearson(truth: Sequence[float], predictions: Sequence[float]) -> RecountedValue:
    x, y = (_scaled(_deviations(values)) for values in (truth, predictions))
    squares = [math.fsum(each * each for each in values) for values in (x, y)]
    product = math.fsum(map(operator.mul, x, y))
    return _summed(_over_roots(product, *squares), len(truth), *squares, product)


def _scaled(values: Sequence[float]) -> list[float]:
    """Divide by a power of two, so that products are neither too large nor too small."""
    scale = math.ldexp(1.0, -max(math.frexp(max(map(abs, values)))[1], -1000))
    return [each * scale for each in values]


def _spearman(truth: Sequence[float], predictions: Sequence[float]) -> RecountedValue:
    x, y = map(_doubled_ranks, (truth, predictions))
    products = [sum(map(operator.mul, *pair)) for pair in ((x, y), (x, x), (y, y))]
    return RecountedValue(_over_roots(*products), {}, {"rows": len(truth), "products": products})


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Return twice the difference between each value's mean rank and the mean of all ranks."""
    ordered = sorted(values)
    return [bisect_left(ordered, each) + bisect_right(ordered, each) - len(ordered) for each in values]


def _base(name: str) -> str:
    return name.removeprefix("mean_")


def _over_roots(value: float, one: float, other: float) -> float:
    """Return a value divided by two roots; 0 without any spread."""
    return value / (math.sqrt(one) * math.sqrt(other)) if one and other else 0.0


def _roc_auc(truth: Sequence[float], predictions: Sequence[float]) -> RecountedValue:
    negatives = sorted(p for t, p in zip(truth, predictions, strict=True) if t != 1)
    positives = [p for t, p in zip(truth, predictions, strict=True) if t == 1]
    wins = sum(bisect_left(negatives, p) + bisect_right(negatives, p) for p in positives)
    counts = {"pairs": wins, "positives": len(positives), "negatives": len(negatives)}
    return RecountedValue(wins / (2 * len(positives) * len(negatives)), {}, counts)


def _average_precision(truth: Sequence[float], predictions: Sequence[float]) -> RecountedValue:
    everything = sorted(predictions)
    positives = sorted(p for t, p in zip(truth, predictions, strict=True) if t == 1)
    total = math.fsum(
        count
        * ((len(positives) - bisect_left(positives, p)) / (len(everything) - bisect_left(everything, p)))
        for p, count in Counter(positives).items()
    )
    counts = {"positives": len(positives), "sum": total.hex()}
    return RecountedValue(total / len(positives), {}, counts)


def _multi_class_log_loss(
    options: RecountOptions, truth: Sequence[str], predictions: Values
) -> RecountedValue:
    losses = []
    for row, name in enumerate(truth):
        total = 0.0
        for each in options.classes:
            total += predictions[each][row]
        losses.append(_negative_log(predictions[name][row] / total))
    total = math.fsum(losses)
    return _summed(total / len(losses), len(losses), total)


def _mean_average_precision(
    cutoff: int, truth: Sequence[Sequence[str]], predictions: Sequence[Sequence[str]]
) -> RecountedValue:
    values = []
    for names, guesses in zip(truth, predictions, strict=True):
        hits, precision = set[str](), 0.0
        for place, name in enumerate(guesses[:cutoff], 1):
            if name in names and name not in hits:
                hits.add(name)
                precision += len(hits) / place
        values.append(precision / min(len(set(names)), cutoff))
    total = math.fsum(values)
    return _summed(total / len(values), len(values), total)


_OF_CLASSES: Mapping[str, Callable[[_Cells], RecountedValue]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "f1": _f1,
    "macro_f1": _macro_f1,
    "mcc": _matthews_correlation,
    "kappa": _kappa_of(lambda one, other: int(one != other)),
    "quadratic_kappa": _kappa_of(lambda one, other: (one - other) ** 2),
}
_OF_RANKS: Mapping[str, OneColumn] = {
    "roc_auc": _roc_auc,
    "average_precision": _average_precision,
    "spearman": _spearman,
}
_OF_ONE_COLUMN: Mapping[str, OneColumn] = {
    **_OF_RANKS,
    "log_loss": _mean_of_rows(_log_loss),
    "brier": _mean_of_rows(_squared_error),
    "rmse": _mean_of_rows(_squared_error, math.sqrt),
    "mae": _mean_of_rows(lambda truth, prediction: abs(prediction - truth)),
    "rmsle": _mean_of_rows(_squared_log_error, math.sqrt),
    "mape": _mean_of_rows(_relative_error),
    "r2": _r_squared,
    "pearson": _pearson,
}
_MULTI_CLASS = "multi_class_log_loss"
_METRICS = {*_OF_CLASSES, *_OF_ONE_COLUMN, _MULTI_CLASS, "map_at_k"} | {
    f"mean_{each}" for each in ("roc_auc", "rmse", "log_loss")
}
_LOWEST_IS_BEST = {"log_loss", _MULTI_CLASS, "brier", "rmse", "mae", "rmsle", "mape"}
_EXACT = {*_OF_CLASSES, *_OF_RANKS}
_DOMAINS = {"log_loss": (0.0, 1.0), "brier": (0.0, 1.0), "rmsle": (0.0, math.inf)}
_OF_DIFFERENCES = {"rmsle", "r2", "pearson"}
# These are undefined unless the largest and the smallest target differ by more than this.
_COMPARING_CLASSES = frozenset({"f1", "mcc", "kappa", "quadratic_kappa"})
_LEAST_SPREADS = dict.fromkeys([*_OF_RANKS, "pearson"], 0.0) | {"r2": 1 / 1e145}

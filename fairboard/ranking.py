"""Ranking metrics for predictions and for lists of classes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairboard.classification import FROM_0_TO_1, not_binary
from fairboard.interface import (
    ColumnKind,
    Columns,
    ColumnSpec,
    Exactness,
    FloatArray,
    MetricResult,
    Options,
    PreparedRows,
)
from fairboard.metric_bases import NUMBERS, PREDICTION, TARGET, BuiltIn, RowMetric, problem
from fairboard.ranks import RankArray, dense_ranks
from fairboard.regression import constant
from fairboard.row_statistics import exact_sum

Counts = NDArray[np.int64]
Scored = tuple[float, Mapping[str, Any]]  # a score with its evidence


@dataclass(frozen=True, kw_only=True)
class Ranked(BuiltIn):
    """A metric of the ranks of predictions: counts only; `compare` receives the truth and the ranks."""

    compare: Callable[[NDArray[Any], RankArray], Scored]
    exactness: Exactness = Exactness.COUNTS

    def encode(self, predictions: Columns) -> RankArray:
        """Return the dense ranks of the predictions."""
        return dense_ranks(predictions[PREDICTION])

    def score(self, prepared: PreparedRows, encoded: RankArray) -> MetricResult:
        """Compute the values of one file on one split."""
        score, evidence = self.compare(prepared.data, encoded[prepared.rows])
        return MetricResult(score, {}, evidence)


def _one_class(truth: NDArray[Any]) -> list[str]:
    problems = not_binary(truth)
    if not problems and truth.min() == truth.max():
        problems = [f"The target must be 0 in some rows and 1 in others; it is {truth[0]:g} in all rows."]
    return problems


def _at_ranks(labels: NDArray[np.bool_], ranks: RankArray) -> tuple[Counts, Counts]:
    """Return the numbers of positive rows and of all rows at each rank, the lowest rank first."""
    total = np.bincount(ranks)
    return np.bincount(ranks[labels], minlength=total.size), total


def _roc_auc(labels: NDArray[np.bool_], ranks: RankArray) -> Scored:
    positive, total = _at_ranks(labels, ranks)
    negative = total - positive
    negatives_below = 2 * (np.cumsum(negative) - negative) + negative
    doubled = int((positive * negatives_below).sum())
    count, negatives = int(positive.sum()), int(negative.sum())
    evidence = {"pairs": doubled, "positives": count, "negatives": negatives}
    return doubled / (2 * count * negatives), evidence


def _average_precision(labels: NDArray[np.bool_], ranks: RankArray) -> Scored:
    positive, total = _at_ranks(labels, ranks)
    precision = _from_top(positive) / np.maximum(_from_top(total), 1)
    count, total_precision = int(positive.sum()), exact_sum(positive * precision)
    return total_precision / count, {"positives": count, "sum": total_precision.hex()}


def _from_top(counts: Counts) -> Counts:
    """Return for each rank the sum of the counts at this rank and above."""
    return np.cumsum(counts[::-1])[::-1]


def _spearman(truth: Counts, ranks: RankArray) -> Scored:
    rows = truth.size
    # Deviations from the mean rank, doubled; their sum is 0.
    x, y = truth - (rows + 1), doubled_midranks(ranks) - (rows + 1)
    products = [integer_dot(a, b) for a, b in ((x, y), (x, x), (y, y))]
    score = products[0] / (math.sqrt(products[1]) * math.sqrt(products[2])) if products[2] else 0.0
    return score, {"rows": rows, "products": products}


def doubled_midranks(ranks: RankArray) -> Counts:
    """Return twice the mean rank of each value, counted from 1: equal values share a mean rank."""
    counts = np.bincount(ranks)
    return (2 * np.cumsum(counts) - counts + 1)[ranks]


def integer_dot(one: Counts, other: Counts) -> int:
    """Return the exact sum of products of integers of at most 2^31, also beyond 64 bits."""
    high, low = one >> 16, one & 0xFFFF
    return (int((high * other).sum()) << 16) + int((low * other).sum())


@dataclass(frozen=True, kw_only=True)
class Lists(RowMetric):
    """A metric of the first k classes of a list; the sentence states k."""

    def with_options(self, options: Options) -> Self:
        """Return the metric with other options; raise ValueError if they do not suit it."""
        if options.cutoff < 1:
            raise ValueError("The cutoff must be at least 1.")
        sentence = self.sentence.replace("k classes", f"k = {options.cutoff} classes")
        return replace(self, options=options, sentence=sentence)

    def encode(self, predictions: Columns) -> NDArray[Any]:
        """Return the first k places of the lists; missing places are empty."""
        lists = predictions[PREDICTION][:, : self.options.cutoff]
        return np.pad(lists, ((0, 0), (0, self.options.cutoff - lists.shape[1])), constant_values=-1)


def _distinct(truth: NDArray[Any]) -> NDArray[Any]:
    """Return lists in which a class that is repeated counts once."""
    ordered = np.sort(truth, axis=1)
    ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = -1
    return ordered


def _average_precisions(truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
    """Return the average precision of each row: the mean precision at the places of correct classes.

    The divisor is the number of true classes, or k if that is smaller. A class that is repeated in a list
    counts once.
    """
    hits, total = np.zeros(len(truth)), np.zeros(len(truth))
    places = predictions.shape[1]
    for place in range(places):
        listed = predictions[:, place]
        if (listed < 0).all():  # as in all places after the longest list
            continue
        is_correct = (truth == listed[:, None]).any(axis=1) & (listed >= 0)
        is_correct &= ~(predictions[:, :place] == listed[:, None]).any(axis=1)
        hits += is_correct
        total += np.where(is_correct, hits / (place + 1), 0.0)
    return (total / np.minimum((truth >= 0).sum(axis=1), places),)


RANKING: tuple[BuiltIn, ...] = (
    ROC_AUC := Ranked(
        name="roc_auc",
        title="ROC AUC",
        sentence="The probability that a positive row has a higher prediction than a negative row.",
        columns=(FROM_0_TO_1[0], NUMBERS[1]),
        problems=_one_class,
        prepared=lambda truth: truth == 1,
        compare=_roc_auc,
        compares_classes=True,
    ),
    replace(
        ROC_AUC,
        name="average_precision",
        title="Average precision",
        sentence="The mean over positive rows of the precision among the rows ranked at least as high.",
        compare=_average_precision,
    ),
    Ranked(
        name="spearman",
        title="Spearman correlation",
        sentence="The correlation between the ranks of predictions and target; equal values share a mean "
        "rank.",
        is_nonnegative=False,
        problems=constant,
        prepared=lambda truth: doubled_midranks(dense_ranks(truth)),
        compare=_spearman,
    ),
    Lists(
        name="map_at_k",
        title="Mean average precision at k (MAP@k)",
        sentence="The mean over rows of the average precision of the first k classes of a list.",
        columns=(ColumnSpec(TARGET, ColumnKind.CLASSES), ColumnSpec(PREDICTION, ColumnKind.CLASSES)),
        problems=lambda truth: problem(
            np.all(truth < 0, axis=1), "Each row needs at least one true class; rows without one"
        ),
        prepared=_distinct,
        rows=_average_precisions,
    ),
)

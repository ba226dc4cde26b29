"""Metrics of the order of predictions, and of lists of classes."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairboard.built_in import PREDICTION, TARGET, BuiltIn, RowStatistics, SplitTruth
from fairboard.classification import not_binary
from fairboard.interface import (
    ColumnKind,
    Columns,
    ColumnSpec,
    Description,
    Exactness,
    FloatArray,
    MetricResult,
    Options,
)
from fairboard.ranks import RankArray, dense_ranks
from fairboard.regression import constant
from fairboard.row_statistics import exact_sum


@dataclass(frozen=True, eq=False)
class RankedClasses:
    """The number of positive and negative rows at each rank, the lowest rank first.

    Attributes
    ----------
    ranks : ndarray of unsigned integers, shape (rows,)
        The rank of each row.
    labels : ndarray of bool, shape (rows,)
        Whether each row is positive.
    """

    ranks: RankArray
    labels: NDArray[np.bool_]

    @cached_property
    def all(self) -> NDArray[np.int64]:
        """The number of rows at each rank."""
        return np.bincount(self.ranks)

    @cached_property
    def positive(self) -> NDArray[np.int64]:
        """The number of positive rows at each rank."""
        return np.bincount(self.ranks[self.labels], minlength=self.all.size)

    @property
    def negative(self) -> NDArray[np.int64]:
        """The number of negative rows at each rank."""
        return self.all - self.positive


class RankMetric(BuiltIn):
    """A metric of the ranks of predictions and a binary target: counts only."""

    exactness = Exactness.COUNTS

    def _truth(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(TARGET, ColumnKind.NUMBER, 0, 1),)

    def _problems(self, truth: NDArray[Any]) -> list[str]:
        problems = not_binary(truth)
        if not problems and truth.min() == truth.max():
            problems = [f"The target must be 0 in some rows and 1 in others; it is {truth[0]:g} in all rows."]
        return problems

    def _prepared(self, truth: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(truth == 1)

    def encode(self, predictions: Columns) -> RankArray:
        """Return the dense ranks of the predictions."""
        return dense_ranks(predictions[PREDICTION])

    def score(self, prepared: SplitTruth, encoded: RankArray) -> MetricResult:
        """Compute the values of one file on one split."""
        return self._result(RankedClasses(encoded[prepared.rows], prepared.truth))

    @abstractmethod
    def _result(self, ranked: RankedClasses) -> MetricResult:
        """Return the score with its evidence."""


class RocAuc(RankMetric):
    """The probability that a positive row has a higher prediction than a negative one."""

    name = "roc_auc"
    title = "ROC AUC"
    sentence = "The probability that a positive row has a higher prediction than a negative row."
    chance = 0.5

    def _result(self, ranked: RankedClasses) -> MetricResult:
        positive, negative = ranked.positive, ranked.negative
        negatives_below = 2 * (np.cumsum(negative) - negative) + negative
        doubled = int((positive * negatives_below).sum())
        count, negatives = int(positive.sum()), int(negative.sum())
        score = doubled / (2 * count * negatives)

        return MetricResult(score, {}, {"pairs": doubled, "positives": count, "negatives": negatives})


class AveragePrecision(RankMetric):
    """The mean over positive rows of the precision among the rows that are ranked at least as high."""

    name = "average_precision"
    title = "Average precision"
    sentence = "The mean over positive rows of the precision among the rows ranked at least as high."

    def _result(self, ranked: RankedClasses) -> MetricResult:
        positive, total = ranked.positive, ranked.all
        at_least, positives_at_least = _from_top(total), _from_top(positive)
        precision = positives_at_least / np.maximum(at_least, 1)
        count, total_precision = int(positive.sum()), exact_sum(positive * precision)
        score = total_precision / count

        return MetricResult(score, {}, {"positives": count, "sum": total_precision.hex()})


def _from_top(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each rank the sum of the counts at this rank and above."""
    return np.cumsum(counts[::-1])[::-1]


class Spearman(BuiltIn):
    """The correlation between the ranks of predictions and target."""

    name = "spearman"
    is_nonnegative = False
    title = "Spearman correlation"
    sentence = "The correlation between the ranks of predictions and target; equal values share a mean rank."
    exactness = Exactness.COUNTS

    def _problems(self, truth: NDArray[Any]) -> list[str]:
        return constant(truth)

    def _prepared(self, truth: NDArray[Any]) -> NDArray[Any]:
        return doubled_midranks(dense_ranks(truth))

    def encode(self, predictions: Columns) -> RankArray:
        """Return the dense ranks of the predictions."""
        return dense_ranks(predictions[PREDICTION])

    def score(self, prepared: SplitTruth, encoded: RankArray) -> MetricResult:
        """Compute the values of one file on one split."""
        rows, one = prepared.rows.size, prepared.truth
        other = doubled_midranks(encoded[prepared.rows])
        # Deviations from the mean rank, doubled; their sum is 0.
        x, y = one - (rows + 1), other - (rows + 1)
        products = [integer_dot(a, b) for a, b in ((x, y), (x, x), (y, y))]
        evidence = {"rows": rows, "products": products}
        if not products[2]:
            return MetricResult(0.0, {}, evidence)
        score = products[0] / (math.sqrt(products[1]) * math.sqrt(products[2]))

        return MetricResult(score, {}, evidence)


def doubled_midranks(ranks: RankArray) -> NDArray[np.int64]:
    """Return twice the mean rank of each value, counted from 1: equal values share a mean rank."""
    counts = np.bincount(ranks)
    return (2 * np.cumsum(counts) - counts + 1)[ranks]


def integer_dot(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """Return the exact sum of products of integers of at most 2^31, also beyond 64 bits."""
    high, low = one >> 16, one & 0xFFFF
    return (int((high * other).sum()) << 16) + int((low * other).sum())


class MeanAveragePrecisionAtK(RowStatistics):
    """The mean over rows of the average precision of a list of classes."""

    name = "map_at_k"
    title = "Mean average precision at k (MAP@k)"
    sentence = "The mean over rows of the average precision of the first k classes of a list."

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        if options.cutoff < 1:
            raise ValueError("The cutoff must be at least 1.")

    def describe(self) -> Description:
        """Describe the metric; the sentence states the cutoff."""
        return replace(
            super().describe(),
            sentence=self.sentence.replace("k classes", f"k = {self.options.cutoff} classes"),
        )

    def _truth(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(TARGET, ColumnKind.CLASSES),)

    def _predictions(self) -> tuple[ColumnSpec, ...]:
        return (ColumnSpec(PREDICTION, ColumnKind.CLASSES),)

    def encode(self, predictions: Columns) -> NDArray[Any]:
        """Return the first k places of the lists; missing places are empty."""
        lists = predictions[PREDICTION][:, : self.options.cutoff]
        return np.pad(lists, ((0, 0), (0, self.options.cutoff - lists.shape[1])), constant_values=-1)

    def _prepared(self, truth: NDArray[Any]) -> NDArray[Any]:
        # A class that is repeated in a target counts once.
        ordered = np.sort(truth, axis=1)
        ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = -1
        return ordered

    def _problems(self, truth: NDArray[Any]) -> list[str]:
        count = int(np.count_nonzero((truth < 0).all(axis=1)))
        return [f"Each row needs at least one true class; rows without one: {count}."] if count else []

    def rows(self, truth: NDArray[Any], predictions: NDArray[Any]) -> Sequence[FloatArray]:
        """Return the average precision of each row: the mean precision at the places of correct classes.

        The divisor is the number of true classes, or k if that is smaller. A class that is repeated in a list
        counts once.
        """
        hits, total = np.zeros(len(truth)), np.zeros(len(truth))
        places = predictions.shape[1]
        for place in range(places):
            listed = predictions[:, place]
            is_correct = (truth == listed[:, None]).any(axis=1) & (listed >= 0)
            is_correct &= ~(predictions[:, :place] == listed[:, None]).any(axis=1)
            hits += is_correct
            total += np.where(is_correct, hits / (place + 1), 0.0)
        return (total / np.minimum((truth >= 0).sum(axis=1), places),)


RANKING: tuple[type[BuiltIn], ...] = (RocAuc, AveragePrecision, Spearman, MeanAveragePrecisionAtK)

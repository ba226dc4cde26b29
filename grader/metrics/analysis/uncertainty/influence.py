r"""Influence of each row on the score (DeLong), for variances.

An AUC that compares sets A and B is a mean over their rows: of the placement :math:`V(a)`, the fraction
of B below a, and of :math:`V(b)`, the fraction of A above b. The influence of a row is its centered
placement over the size of its set, and the variance is the sum of their squares, each set's times
n / (n - 1). The sum of several AUCs has the sum of their influences, and a smooth function of them the sum
weighted by its derivatives: so a row that mentions two identities counts once in the variance of the score,
with all that hangs on it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grader.metrics.analysis.uncertainty.placements import ClassTable, Steps
from grader.metrics.metric_settings import MetricSettings
from grader.metrics.prepared import FloatArray, IndexArray, PreparedSplit
from grader.metrics.ranks import RankArray, RankedSplit
from grader.metrics.reports import BiasReport
from grader.metrics.subgroups import BIAS_AUCS, BiasAuc, Cell, SubgroupReport

CELLS: tuple[Cell, ...] = (*BIAS_AUCS, "positive_aeg", "negative_aeg")


class Members(NamedTuple):
    """The rows of one identity by class."""

    positive: IndexArray
    negative: IndexArray


@dataclass(frozen=True, eq=False)
class Sets:
    """The rows that are compared, prepared once for all submissions on a split."""

    split: PreparedSplit

    @cached_property
    def positive(self) -> IndexArray:
        """Row numbers of the positive rows."""
        return np.flatnonzero(self.split.labels)

    @cached_property
    def negative(self) -> IndexArray:
        """Row numbers of the negative rows."""
        return np.flatnonzero(~self.split.labels)

    @cached_property
    def ranked(self) -> RankedSplit:
        """The split in its own order, for counting from ranks."""
        return RankedSplit.of(self.split, np.arange(self.split.rows))

    @cached_property
    def members(self) -> tuple[Members, ...]:
        """The rows that mention each identity."""
        labels = self.split.labels
        return tuple(Members(rows[labels[rows]], rows[~labels[rows]]) for rows in self.split.members)


@dataclass(frozen=True, eq=False)
class Influences:
    """The influence of every row, and the variance of every cell.

    Attributes
    ----------
    overall_auc, score : ndarray of float64, shape (rows,), or None
        What each row adds to the error; the variance is the sum of the squares. None where the
        value is undefined or a compared set has fewer than 2 rows.
    power_means : mapping of str to the same
        The three other terms.
    variances : mapping of str to mapping of Cell to float or None
        For each identity, the variance of its five cells.
    """

    overall_auc: FloatArray | None
    power_means: Mapping[BiasAuc, FloatArray | None]
    score: FloatArray | None
    variances: Mapping[str, Mapping[Cell, float | None]]

    def standard_errors(self) -> dict[str, float]:
        """Return the standard errors of the score and its terms, to two digits; not those that are 0."""
        found: dict[str, FloatArray | None] = {"score": self.score, "overall_auc": self.overall_auc}
        found |= {str(term): each for term, each in self.power_means.items()}
        errors = {
            name: math.sqrt(float(np.square(each).sum())) for name, each in found.items() if each is not None
        }
        return {name: float(f"{error:.2g}") for name, error in errors.items() if error}


def influences(sets: Sets, ranks: RankArray, report: BiasReport, settings: MetricSettings) -> Influences:
    """Return the influence of every row on the terms and the score of a submission.

    Parameters
    ----------
    sets : Sets
        The split.
    ranks : ndarray of unsigned integers, shape (rows,)
        `dense_ranks` of the predictions.
    report : BiasReport
        The values of the same predictions on the same split.
    settings : MetricSettings
        Those that the report was made with.

    Returns
    -------
    Influences
        Undefined cells have no variance, and what needs them has no influences.
    """
    return _Computation(sets, ranks, report, settings).run()


class _Places(NamedTuple):
    """The rows of one identity by rank, with their positions."""

    positive_rows: IndexArray
    negative_rows: IndexArray
    positive: Steps
    negative: Steps


class _Computation:
    """One submission's influences: two tables of the classes, and one pass over the identities."""

    def __init__(self, sets: Sets, ranks: RankArray, report: BiasReport, settings: MetricSettings) -> None:
        self._sets = sets
        self._ranks = ranks.astype(np.int64)
        self._report = report
        self._settings = settings
        at = np.bincount(self._ranks)
        positive_at = np.bincount(self._ranks[sets.positive], minlength=at.size)
        self._positive = ClassTable.of(positive_at)
        self._negative = ClassTable.of(at - positive_at)
        self._of_means: dict[BiasAuc, FloatArray] = {term: np.zeros(ranks.size) for term in BIAS_AUCS}
        self._of_positive_background = _Background(at.size)
        self._of_negative_background = _Background(at.size)

    def run(self) -> Influences:
        """Return everything."""
        slopes = {term: _slopes(self._report, term, self._settings) for term in BIAS_AUCS}
        variances: dict[str, Mapping[Cell, float | None]] = {}
        for members, line in zip(self._sets.members, self._report.subgroups, strict=True):
            places = self._places(members)
            variances[line.name] = self._variances(places, line)
            if line.in_score:
                self._add(places, line, slopes)
        self._add_backgrounds()
        means = {
            term: self._of_means[term] if _is_known(term, slopes[term], variances) else None
            for term in BIAS_AUCS
        }
        overall = self._overall()
        return Influences(overall, means, self._score(overall, means), variances)

    def _places(self, members: Members) -> _Places:
        positive, negative = (self._ranks[rows] for rows in members)
        by_positive, by_negative = np.argsort(positive), np.argsort(negative)
        positive, negative = positive[by_positive], negative[by_negative]
        return _Places(
            positive_rows=members.positive[by_positive],
            negative_rows=members.negative[by_negative],
            positive=Steps.of(positive, negative, self._positive, self._negative),
            negative=Steps.of(negative, positive, self._negative, self._positive),
        )

    def _variances(self, places: _Places, line: SubgroupReport) -> dict[Cell, float | None]:
        positive, negative = places.positive, places.negative
        n1, n0 = positive.size, negative.size
        b1, b0 = self._positive.size - n1, self._negative.size - n0
        found: dict[Cell, float | None] = dict.fromkeys(CELLS)
        if (auc := line.subgroup_auc) is not None and min(n1, n0) > 1:
            of_positive = positive.spread(positive.doubled_in_other, 2 * n0, auc)
            of_negative = negative.spread(negative.doubled_in_other, 2 * n1, 1 - auc)
            found["subgroup_auc"] = of_positive / (n1 * (n1 - 1)) + of_negative / (n0 * (n0 - 1))
        if (auc := line.bpsn_auc) is not None and min(b1, n0) > 1:
            of_negative = negative.spread(negative.doubled_in_other_background, 2 * b1, 1 - auc)
            of_background = negative.spread_of_other_background(auc)
            found["bpsn_auc"] = of_negative / (n0 * (n0 - 1)) + of_background / (b1 * (b1 - 1))
        if (auc := line.bnsp_auc) is not None and min(n1, b0) > 1:
            of_positive = positive.spread(positive.doubled_in_other_background, 2 * b0, auc)
            of_background = positive.spread_of_other_background(1 - auc)
            found["bnsp_auc"] = of_positive / (n1 * (n1 - 1)) + of_background / (b0 * (b0 - 1))
        found["positive_aeg"] = _gap_variance(positive, line.positive_aeg)
        found["negative_aeg"] = _gap_variance(negative, line.negative_aeg)
        return found

    def _add(self, places: _Places, line: SubgroupReport, slopes: Mapping[BiasAuc, "_Slopes"]) -> None:
        """Add the influence of one identity's AUCs on its rows and, by rank, on all background rows."""
        positive, negative = places.positive, places.negative
        n1, n0 = positive.size, negative.size
        b1, b0 = self._positive.size - n1, self._negative.size - n0
        if min(n1, n0, b1, b0) < 2:
            return  # then no term with this identity is known
        rows1, rows0 = places.positive_rows, places.negative_rows
        of_positive = positive.by_row(positive.doubled_in_other) / (2 * n0)
        of_negative = 1 - negative.by_row(negative.doubled_in_other) / (2 * n1)
        if (slope := slopes["subgroup_auc"].get(line.name)) is not None and line.subgroup_auc is not None:
            auc, influence = line.subgroup_auc, self._of_means["subgroup_auc"]
            influence[rows1] += slope * _share(n1) * (of_positive - auc)
            influence[rows0] += slope * _share(n0) * (of_negative - auc)
        if (slope := slopes["bpsn_auc"].get(line.name)) is not None and line.bpsn_auc is not None:
            auc, influence = line.bpsn_auc, self._of_means["bpsn_auc"]
            doubled = negative.doubled_in_other_background
            influence[rows0] += slope * _share(n0) * (1 - negative.by_row(doubled) / (2 * b1) - auc)
            share = slope * _share(b1)
            self._of_positive_background.add(negative, share / n0, -share * auc)
            influence[rows1] -= share * (of_positive - auc)  # they are no background
        if (slope := slopes["bnsp_auc"].get(line.name)) is not None and line.bnsp_auc is not None:
            auc, influence = line.bnsp_auc, self._of_means["bnsp_auc"]
            doubled = positive.doubled_in_other_background
            influence[rows1] += slope * _share(n1) * (positive.by_row(doubled) / (2 * b0) - auc)
            share = slope * _share(b0)
            self._of_negative_background.add(positive, -share / n1, share * (1 - auc))
            influence[rows0] -= share * (of_negative - auc)

    def _add_backgrounds(self) -> None:
        sets = self._sets
        by_rank = self._of_positive_background.by_rank()
        self._of_means["bpsn_auc"][sets.positive] += by_rank[self._ranks[sets.positive]]
        by_rank = self._of_negative_background.by_rank()
        self._of_means["bnsp_auc"][sets.negative] += by_rank[self._ranks[sets.negative]]

    def _overall(self) -> FloatArray | None:
        auc, n1, n0 = self._report.overall_auc, self._positive.size, self._negative.size
        if auc is None or min(n1, n0) < 2:
            return None
        found = np.empty(self._ranks.size)
        below = self._negative.doubled(self._ranks[self._sets.positive])
        found[self._sets.positive] = _share(n1) * (below / (2 * n0) - auc)
        below = self._positive.doubled(self._ranks[self._sets.negative])
        found[self._sets.negative] = _share(n0) * (1 - below / (2 * n1) - auc)
        return found

    def _score(
        self, overall: FloatArray | None, means: Mapping[BiasAuc, FloatArray | None]
    ) -> FloatArray | None:
        found = np.zeros(self._ranks.size)
        terms: dict[str, FloatArray | None] = {
            "overall_auc": overall,
            **{str(term): each for term, each in means.items()},
        }
        for name, weight in self._settings.weights.as_dict().items():
            influence = terms[name]
            if weight and influence is None:
                return None
            if influence is not None:
                found += weight * influence
        return found


_Slopes = Mapping[str, float]


class _Background:
    """The influences of background rows: a sum of step functions of the rank, one for each identity."""

    def __init__(self, rank_count: int) -> None:
        self._rank_count = rank_count
        self._ranks: list[IndexArray] = []
        self._heights: list[NDArray[Any]] = []
        self._constant = 0.0

    def add(self, steps: Steps, height: float, constant: float) -> None:
        """Add `constant`, and `height` for each row above its rank (half of it at the rank)."""
        self._ranks.append(steps.ranks)
        self._heights.append(height * steps.counts)
        self._constant += constant

    def by_rank(self) -> FloatArray:
        """Return the sum at every rank."""
        if not self._ranks:
            return np.zeros(self._rank_count)
        heights = np.bincount(
            np.concatenate(self._ranks), weights=np.concatenate(self._heights), minlength=self._rank_count
        )
        summed: FloatArray = np.cumsum(heights)
        summed -= heights / 2
        summed += self._constant
        return summed


def _gap_variance(steps: Steps, gap: float | None) -> float | None:
    """Return the variance of the AUC of a background against a subgroup of the same class."""
    size, background = steps.size, steps.everybody.size - steps.size
    if gap is None or min(size, background) < 2:
        return None
    auc = 0.5 - gap
    of_subgroup = steps.spread(steps.doubled_in_background, 2 * background, 1 - auc)
    of_background = steps.spread_of_background(auc)
    return of_subgroup / (size * (size - 1)) + of_background / (background * (background - 1))


def _slopes(report: BiasReport, term: BiasAuc, settings: MetricSettings) -> _Slopes:
    """Return how a power mean moves with each of its values; empty where it does not move smoothly."""
    values = {line.name: getattr(line, term) for line in report.subgroups if line.in_score}
    defined = {name: value for name, value in values.items() if value is not None}
    mean = getattr(report.power_means, term)
    if mean is None or not defined or min(defined.values()) <= 0:
        return {}
    if math.isinf(settings.power):
        extremes = [name for name, value in defined.items() if value == mean]
        return {name: float(name == extremes[0]) for name in defined} if len(extremes) == 1 else {}
    return {name: (mean / value) ** (1 - settings.power) / len(defined) for name, value in defined.items()}


def _is_known(term: BiasAuc, slopes: _Slopes, variances: Mapping[str, Mapping[Cell, float | None]]) -> bool:
    return bool(slopes) and all(variances[name][term] is not None for name in slopes)


def _share(size: int) -> float:
    """Return what one row of a set weighs, so that the sum of squares has n - 1 in its denominator."""
    return 1 / math.sqrt(size * (size - 1))

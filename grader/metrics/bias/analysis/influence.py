r"""DeLong influence of each row on the score, the basis of variance estimates.

An AUC that compares sets A and B is the mean of the placements of either set: :math:`V(a)` is the fraction of
B below a, and :math:`V(b)` is the fraction of A above b. The influence of a row is its centered placement
divided by the size of its set. The variance is the sum of the squared influences, multiplied by n / (n - 1)
for each set. If rows depend on each other within clusters, the influences of a cluster are added before they
are squared, and n is the number of clusters with rows in the set. The influence on a sum of AUCs is the sum
of the influences. The influence on a smooth function of AUCs is the sum weighted by the function's
derivatives. A row that mentions two identities therefore counts once in the variance of the score.

Placement counts are doubled so that ties, which count as one half, are integers.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.metrics.bias.analysis.placements import by_cell, scale
from grader.metrics.bias.analysis.rows import Rows
from grader.metrics.bias.counts import PairCounts
from grader.metrics.bias.metric_settings import MetricSettings
from grader.metrics.bias.pair_counting import count_ranks
from grader.metrics.bias.prepared import (
    MAX_ROWS,
    BoolArray,
    FloatArray,
    IndexArray,
    PreparedSplit,
    as_vector,
    cluster_numbers,
)
from grader.metrics.bias.reports import BiasReport, report
from grader.metrics.bias.subgroups import BIAS_AUCS, CELLS, BiasAuc, Cell, SubgroupReport
from grader.metrics.ranks import RankArray, dense_ranks

_ROW_BITS = (MAX_ROWS - 1).bit_length()
Counts = NDArray[np.int64]
_ZERO = 1e-15  # Smaller influences are rounding errors.
Term = Literal["score", "overall_auc"] | BiasAuc


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Number of rows of one class below each rank, and at or below it.

    Attributes
    ----------
    size : int
        Number of rows in the class.
    below, up_to : ndarray of int64, shape (ranks,)
        Number of rows below each rank, and at or below it.
    """

    size: int
    below: Counts
    up_to: Counts

    @classmethod
    def of(cls, at: Counts) -> "ClassTable":
        """Create a table from the number of rows of a class at each rank."""
        summed = np.zeros(at.size + 1, np.int64)
        np.cumsum(at, out=summed[1:])
        return cls(int(summed[-1]), summed[:-1], summed[1:])

    def doubled(self, ranks: Counts) -> Counts:
        """Return doubled placements of ranks: twice the rows below, plus the rows at the rank."""
        doubled: Counts = (self.below + self.up_to)[ranks]
        return doubled

    def at(self, ranks: Counts) -> "ClassTable":
        """Return a table of the same class that contains only the given ranks."""
        return ClassTable(self.size, self.below[ranks], self.up_to[ranks])


@dataclass(frozen=True, eq=False)
class RankSteps:
    """The distinct ranks of one class in a subgroup, with counts of both classes at each rank.

    Attributes
    ----------
    size, other_size : int
        Number of subgroup rows in this class, and in the other class.
    ranks : ndarray of int64, shape (distinct,)
        The distinct ranks, ascending.
    counts : ndarray of int64, shape (distinct,)
        Number of rows at each rank.
    below, other_below : ndarray of int64, shape (distinct,)
        Number of subgroup rows of this class, and of the other class, below each rank.
    not_above, other_not_above : ndarray of int64, shape (distinct,)
        Number of subgroup rows of this class, and of the other class, at or below each rank.
    tables : tuple of two ClassTable
        Counts of all rows of this class, and of the other class, at all ranks.
    """

    size: int
    other_size: int
    ranks: Counts
    counts: Counts
    below: Counts
    not_above: Counts
    other_below: Counts
    other_not_above: Counts
    tables: tuple[ClassTable, ClassTable]

    @classmethod
    def both(
        cls, ranks: Counts, is_positive: BoolArray, tables: tuple[ClassTable, ClassTable]
    ) -> "tuple[RankSteps, RankSteps]":
        """Create the steps of the positive and the negative rows from the sorted ranks of a subgroup."""
        is_end = np.ones(ranks.size + 1, np.bool_)
        np.not_equal(ranks[1:], ranks[:-1], out=is_end[1:-1])
        ends = np.flatnonzero(is_end)
        up_to = np.zeros(ranks.size + 1, np.int64)
        np.cumsum(is_positive, out=up_to[1:])
        positive = up_to[ends]
        return (
            cls._of(ranks[ends[:-1]], positive, ends - positive, tables),
            cls._of(ranks[ends[:-1]], ends - positive, positive, tables[::-1]),
        )

    @classmethod
    def _of(
        cls, ranks: Counts, own: Counts, others: Counts, tables: tuple[ClassTable, ClassTable]
    ) -> "RankSteps":
        counts = own[1:] - own[:-1]
        kept = np.flatnonzero(counts)
        return cls(
            size=int(own[-1]),
            other_size=int(others[-1]),
            ranks=ranks[kept],
            counts=counts[kept],
            below=own[kept],
            not_above=own[kept + 1],
            other_below=others[kept],
            other_not_above=others[kept + 1],
            tables=tables,
        )

    @cached_property
    def everybody(self) -> ClassTable:
        """Counts of all rows of this class for these ranks."""
        return self.tables[0].at(self.ranks)

    @cached_property
    def others(self) -> ClassTable:
        """Counts of all rows of the other class for these ranks."""
        return self.tables[1].at(self.ranks)

    def by_row(self, by_rank: Counts) -> Counts:
        """Expand values by rank to values by row, in ascending order of rank."""
        return by_rank if self.ranks.size == self.size else np.repeat(by_rank, self.counts)

    @cached_property
    def doubled_in_other(self) -> Counts:
        """Doubled placements among the subgroup rows of the other class, by rank."""
        return self.other_below + self.other_not_above

    @property
    def doubled_in_background(self) -> Counts:
        """Doubled placements among the background rows of the same class, by rank."""
        return self.everybody.below + self.everybody.up_to - (self.below + self.not_above)

    @cached_property
    def doubled_in_other_background(self) -> Counts:
        """Doubled placements among the background rows of the other class, by rank."""
        return self.others.below + self.others.up_to - self.doubled_in_other

    def spread(self, doubled: Counts, doubled_size: int, mean: float) -> float:
        """Return the sum of squared deviations from a mean of the rows' placements, as fractions."""
        return weighted_squares(self.counts, doubled / doubled_size - mean)

    def spread_of_background(self, mean: float) -> float:
        """Return the sum of squared placement deviations for background rows of the same class."""
        return self._spread(self.everybody, self.below, self.not_above, self.size, mean)

    def spread_of_other_background(self, mean: float) -> float:
        """Return the sum of squared placement deviations for background rows of the other class."""
        return self._spread(self.others, self.other_below, self.other_not_above, self.other_size, mean)

    def _spread(
        self, among: ClassTable, below: Counts, not_above: Counts, subgroup_size: int, mean: float
    ) -> float:
        # The placement of a background row is a step function of its rank that changes only at the ranks
        # of the subgroup rows. Background rows between two steps therefore need only be counted.
        up_to = among.up_to - not_above
        under = among.below - below
        between = under.copy()
        between[1:] -= up_to[:-1]
        above = among.size - subgroup_size - int(up_to[-1])
        at_steps = (self.below + self.not_above) / (2 * self.size) - mean
        between_steps = self.below / self.size - mean
        return (
            weighted_squares(up_to - under, at_steps)
            + weighted_squares(between, between_steps)
            + above * (1 - mean) ** 2
        )


def weighted_squares(weights: Counts, values: FloatArray) -> float:
    """Return the weighted sum of squares."""
    return float((values * values * weights).sum())


class Members(NamedTuple):
    """The rows of one identity by class."""

    positive: IndexArray
    negative: IndexArray


@dataclass(frozen=True, eq=False)
class Sets:
    """The row sets for comparisons, prepared once for all submissions on a split.

    Attributes
    ----------
    split : PreparedSplit
        The split.
    clusters : ndarray of int64, shape (rows,), or None
        Number of each row's cluster, if rows of the same cluster are not independent; see `clustered`.
    """

    split: PreparedSplit
    clusters: Counts | None = None

    @classmethod
    def clustered(cls, split: PreparedSplit, clusters: ArrayLike) -> "Sets":
        """Create the sets of a split whose rows depend on each other within clusters.

        Parameters
        ----------
        split : PreparedSplit
            The split.
        clusters : array_like, shape (rows,)
            A number or text per row, such as its author or template. Rows with equal values form a
            cluster. A row without a value is a cluster of its own.

        Raises
        ------
        ValueError
            If the number of values is wrong, or if all rows are in one cluster.

        Notes
        -----
        The influences of a cluster's rows are added before they are squared (Obuchowski, Biometrics 53,
        1997). If each row is a cluster, the variances do not change. Copies of rows in the clusters of the
        original rows do not change them either.
        """
        numbers = cluster_numbers(clusters, split.rows)
        if numbers.max(initial=0) < 1:
            raise ValueError("`clusters` must contain at least 2 different values.")
        return cls(split, numbers)

    @cached_property
    def positive(self) -> IndexArray:
        """Row numbers of the positive rows."""
        return np.flatnonzero(self.split.labels)

    @cached_property
    def negative(self) -> IndexArray:
        """Row numbers of the negative rows."""
        return np.flatnonzero(~self.split.labels)

    @cached_property
    def members(self) -> tuple[Members, ...]:
        """The rows that mention each identity."""
        labels = self.split.labels
        return tuple(Members(rows[labels[rows]], rows[~labels[rows]]) for rows in self.split.members)

    @cached_property
    def units(self) -> Mapping[str, tuple[int, int, int, int]]:
        """The numbers of independent units, which are clusters or rows, in the four sets of each identity.

        The sets are the positive and negative rows of the subgroup and those of the background.
        """
        return {name: (*map(self._count, sizes),) for name, sizes in self._sizes()}  # type: ignore[misc]

    @cached_property
    def effective_units(self) -> Mapping[str, tuple[int, int, int, int]]:
        """The `effective_size` of the four sets of each identity."""
        return {name: (*map(self._effective, sizes),) for name, sizes in self._sizes()}  # type: ignore[misc]

    @cached_property
    def overall_units(self) -> tuple[int, int]:
        """The numbers of independent units in the positive and in the negative rows."""
        return self._count(self._by_unit(self.positive)), self._count(self._by_unit(self.negative))

    def degrees(self, value: Term | Cell, identity: str | None = None) -> int:
        """Return the degrees of freedom of a term, or of an identity's cell.

        They are one less than the `effective_size` of the compared set with the smaller one. For a power
        mean, the identity with the largest number counts, and for the score, the overall AUC.
        """
        if value == "score" or value == "overall_auc":
            return min(self._effective(self._by_unit(rows)) for rows in (self.positive, self.negative)) - 1
        names = zip(self.split.names, self.split.in_score, strict=True)
        counted = [name for name, is_in_score in names if is_in_score] if identity is None else [identity]
        return max((min(by_cell(*self.effective_units[name])[value]) for name in counted), default=1) - 1

    def _sizes(self) -> Iterator[tuple[str, tuple[Any, Any, Any, Any]]]:
        """Yield the rows by unit in the four sets of each identity."""
        every1, every0 = self._by_unit(self.positive), self._by_unit(self.negative)
        for name, members in zip(self.split.names, self.members, strict=True):
            own1, own0 = self._by_unit(members.positive), self._by_unit(members.negative)
            yield name, (own1, own0, every1 - own1, every0 - own0)

    def _count(self, by_unit: Any) -> int:
        return int(by_unit if self.clusters is None else np.count_nonzero(by_unit))

    def _effective(self, by_unit: Any) -> int:
        return int(by_unit) if self.clusters is None else effective_size(by_unit)

    def _by_unit(self, rows: IndexArray) -> Any:
        """Return the number of rows in each cluster, or the total if rows are independent."""
        if self.clusters is None:
            return rows.size
        return np.bincount(self.clusters[rows], minlength=int(self.clusters.max(initial=0)) + 1)


def effective_size(sizes: Counts) -> int:
    """Return the number of clusters of equal size with the same variance (Kish); 2 if it is lower."""
    squares = int(np.square(sizes).sum())
    return max(int(sizes.sum()) ** 2 // max(squares, 1), min(int(np.count_nonzero(sizes)), 2))


def variance_of(influence: FloatArray | None, clusters: Counts | None) -> float | None:
    """Return the variance of a value, given the influence of each row and the clusters of the rows.

    With clusters, the influence of a cluster is that of leaving it out, as in the jackknife: a cluster with a
    share h of the rows has moved the mean towards itself, which hides the share h of its deviation.
    """
    if influence is None:
        return None
    of_units = influence
    if clusters is not None:
        sizes = np.bincount(clusters, weights=np.abs(influence) > _ZERO)
        counted = max(int(np.count_nonzero(sizes)), 2)
        shares = np.minimum(sizes / max(sizes.sum(), 1.0), 0.9)
        of_units = np.bincount(clusters, weights=influence) * (1 - 1 / counted) / (1 - shares)
    # In a dot product, the synchronization of BLAS threads would take too long.
    return float(np.square(of_units).sum())


@dataclass(frozen=True, eq=False)
class Influences:
    """The influence of every row, and the variance of every cell.

    Attributes
    ----------
    terms : mapping of Term to ndarray of float64, shape (rows,), or None
        The influence of each row on the score and on its terms; the variance is the sum of the squares. None
        if the value is undefined or a compared set has fewer than 2 rows or clusters.
    variances : mapping of str to mapping of Cell to float or None
        For each identity, the variance of its five cells if rows are independent.
    """

    terms: Mapping[Term, FloatArray | None]
    variances: Mapping[str, Mapping[Cell, float | None]]


def influences(sets: Sets, ranks: RankArray, report: BiasReport, settings: MetricSettings) -> Influences:
    """Compute the influence of every row on the terms and the score of a submission.

    Parameters
    ----------
    sets : Sets
        The row sets of the split.
    ranks : ndarray of unsigned integers, shape (rows,)
        The `dense_ranks` of the predictions.
    report : BiasReport
        The report for the same predictions on the same split.
    settings : MetricSettings
        The settings of the report.

    Returns
    -------
    Influences
        The influences. Undefined cells have no variance, and terms that depend on them have no influences.
    """
    return _Computation(sets, ranks, report, settings).run()


@dataclass(frozen=True, eq=False)
class Measured:
    """One submission's ranks, report and influences on a split, for intervals and comparisons."""

    ranks: RankArray
    report: BiasReport
    influences: Influences
    sets: Sets
    settings: MetricSettings

    @classmethod
    def of(cls, sets: Sets, y_score: ArrayLike, settings: MetricSettings | None = None) -> "Measured":
        """Measure a submission; raise ValueError for the same invalid inputs as `count_pairs` does."""
        ranks = dense_ranks(as_vector("y_score", y_score, rows=sets.split.rows))
        return cls._of(sets, ranks, count_ranks(sets.split, ranks), settings or MetricSettings())

    @classmethod
    def of_rows(cls, sets: Sets, rows: Rows) -> "Measured":
        """Measure the predictions of the rows of the split; `rows` may have additional identities."""
        counts = rows.only(sets.split.names).pair_counts
        return cls._of(sets, rows.ranks, counts, rows.settings)

    @classmethod
    def _of(cls, sets: Sets, ranks: RankArray, counts: PairCounts, settings: MetricSettings) -> "Measured":
        values = report(counts, settings)
        return cls(ranks, values, influences(sets, ranks, values, settings), sets, settings)


def without_gaps(ranks: RankArray) -> tuple[Counts, Counts]:
    """Return ranks among all rows as ranks among the given rows, and the number of rows at each of them."""
    at = np.bincount(ranks)
    if at.all():
        return ranks.astype(np.int64), at
    is_used = at > 0
    return (np.cumsum(is_used) - 1)[ranks], at[is_used]


class _IdentityRanks(NamedTuple):
    """The row numbers of one identity, sorted by rank, with the steps of each class."""

    positive_rows: IndexArray
    negative_rows: IndexArray
    positive: RankSteps
    negative: RankSteps


class _Computation:
    """Computes the influences for one submission in one pass over the identities."""

    def __init__(self, sets: Sets, ranks: RankArray, report: BiasReport, settings: MetricSettings) -> None:
        self._sets = sets
        self._report = report
        self._settings = settings
        self._ranks, at = without_gaps(ranks)
        self._ranks_of_positive, self._ranks_of_negative = (
            self._ranks[rows] for rows in (sets.positive, sets.negative)
        )
        positive_at = np.bincount(self._ranks_of_positive, minlength=at.size)
        self._positive = ClassTable.of(positive_at)
        self._negative = ClassTable.of(at - positive_at)
        self._of_means: dict[BiasAuc, FloatArray] = {term: np.zeros(ranks.size) for term in BIAS_AUCS}
        self._of_positive_background = _Background(at.size)
        self._of_negative_background = _Background(at.size)

    def run(self) -> Influences:
        """Return the influences and the variances."""
        slopes = {term: mean_slopes(self._report, term, self._settings) for term in BIAS_AUCS}
        known = {term: bool(slopes[term]) for term in BIAS_AUCS}
        variances: dict[str, Mapping[Cell, float | None]] = {}
        for rows, line in zip(self._sets.split.members, self._report.subgroups, strict=True):
            places = self._places(rows)
            variances[line.name] = self._variances(places, line)
            if line.in_score:
                self._add(places, line, slopes)
                for term, is_compared in self._compared(line.name).items():
                    known[term] &= line.name not in slopes[term] or is_compared
        self._add_backgrounds()
        terms: dict[Term, FloatArray | None] = {
            term: self._of_means[term] if known[term] else None for term in BIAS_AUCS
        }
        terms["overall_auc"] = self._overall()
        terms["score"] = self._score(terms)
        return Influences(terms, variances)

    def _places(self, members: IndexArray) -> _IdentityRanks:
        # Sorting packed integers takes less time than an argsort.
        keys = self._ranks[members] << _ROW_BITS | members
        keys.sort()
        ranks, rows = keys >> _ROW_BITS, keys & (1 << _ROW_BITS) - 1
        is_positive = self._sets.split.labels[rows]
        steps = RankSteps.both(ranks, is_positive, (self._positive, self._negative))
        return _IdentityRanks(rows[is_positive], rows[~is_positive], *steps)

    def _compared(self, name: str) -> dict[BiasAuc, bool]:
        """Return whether both sets that each of an identity's AUCs compares have at least 2 units."""
        cells = by_cell(*self._sets.units[name])
        return {term: min(cells[term]) > 1 for term in BIAS_AUCS}

    def _variances(self, places: _IdentityRanks, line: SubgroupReport) -> dict[Cell, float | None]:
        positive, negative = places.positive, places.negative
        n1, n0 = positive.size, negative.size
        b1, b0 = self._positive.size - n1, self._negative.size - n0
        variances: dict[Cell, float | None] = dict.fromkeys(CELLS)
        if (auc := line.subgroup_auc) is not None and min(n1, n0) > 1:
            of_positive = positive.spread(positive.doubled_in_other, 2 * n0, auc)
            of_negative = negative.spread(negative.doubled_in_other, 2 * n1, 1 - auc)
            variances["subgroup_auc"] = of_positive / (n1 * (n1 - 1)) + of_negative / (n0 * (n0 - 1))
        if (auc := line.bpsn_auc) is not None and min(b1, n0) > 1:
            of_negative = negative.spread(negative.doubled_in_other_background, 2 * b1, 1 - auc)
            of_background = negative.spread_of_other_background(auc)
            variances["bpsn_auc"] = of_negative / (n0 * (n0 - 1)) + of_background / (b1 * (b1 - 1))
        if (auc := line.bnsp_auc) is not None and min(n1, b0) > 1:
            of_positive = positive.spread(positive.doubled_in_other_background, 2 * b0, auc)
            of_background = positive.spread_of_other_background(1 - auc)
            variances["bnsp_auc"] = of_positive / (n1 * (n1 - 1)) + of_background / (b0 * (b0 - 1))
        variances["positive_aeg"] = _gap_variance(positive, line.positive_aeg)
        variances["negative_aeg"] = _gap_variance(negative, line.negative_aeg)
        return variances

    def _add(self, places: _IdentityRanks, line: SubgroupReport, slopes: Mapping[BiasAuc, "Slopes"]) -> None:
        """Add the influences of subgroup and background rows on one identity's AUCs."""
        positive, negative = places.positive, places.negative
        n1, n0 = positive.size, negative.size
        b1, b0 = self._positive.size - n1, self._negative.size - n0
        subgroup1, subgroup0, background1, background0 = self._sets.units[line.name]
        # A comparison of a set with fewer than 2 units is left out. Its term has no influences.
        compared = self._compared(line.name)
        rows1, rows0 = places.positive_rows, places.negative_rows
        of_positive = positive.by_row(positive.doubled_in_other) / max(2 * n0, 1)
        of_negative = 1 - negative.by_row(negative.doubled_in_other) / max(2 * n1, 1)
        slope, auc = slopes["subgroup_auc"].get(line.name), line.subgroup_auc
        if slope is not None and auc is not None and compared["subgroup_auc"]:
            influence = self._of_means["subgroup_auc"]
            influence[rows1] += slope * _share(n1, subgroup1) * (of_positive - auc)
            influence[rows0] += slope * _share(n0, subgroup0) * (of_negative - auc)
        slope, auc = slopes["bpsn_auc"].get(line.name), line.bpsn_auc
        if slope is not None and auc is not None and compared["bpsn_auc"]:
            influence = self._of_means["bpsn_auc"]
            doubled = negative.doubled_in_other_background
            influence[rows0] += (
                slope * _share(n0, subgroup0) * (1 - negative.by_row(doubled) / (2 * b1) - auc)
            )
            share = slope * _share(b1, background1)
            self._of_positive_background.add(negative, share / n0, -share * auc)
            # Subgroup rows are not part of the background, so the step function added above is canceled.
            influence[rows1] -= share * (of_positive - auc)
        slope, auc = slopes["bnsp_auc"].get(line.name), line.bnsp_auc
        if slope is not None and auc is not None and compared["bnsp_auc"]:
            influence = self._of_means["bnsp_auc"]
            doubled = positive.doubled_in_other_background
            influence[rows1] += slope * _share(n1, subgroup1) * (positive.by_row(doubled) / (2 * b0) - auc)
            share = slope * _share(b0, background0)
            self._of_negative_background.add(positive, -share / n1, share * (1 - auc))
            influence[rows0] -= share * (of_negative - auc)

    def _add_backgrounds(self) -> None:
        sets = self._sets
        by_rank = self._of_positive_background.by_rank()
        self._of_means["bpsn_auc"][sets.positive] += by_rank[self._ranks_of_positive]
        # Most rows are negative, so it takes less time to compute all rows than to select them.
        of_negative = self._of_negative_background.by_rank()[self._ranks]
        of_negative[sets.positive] = 0.0
        self._of_means["bnsp_auc"] += of_negative

    def _overall(self) -> FloatArray | None:
        auc, n1, n0 = self._report.overall_auc, self._positive.size, self._negative.size
        units = self._sets.overall_units
        if auc is None or min(units) < 2:
            return None
        influences = np.empty(self._ranks.size)
        below = self._negative.doubled(self._ranks_of_positive)
        influences[self._sets.positive] = _share(n1, units[0]) * (below / (2 * n0) - auc)
        below = self._positive.doubled(self._ranks_of_negative)
        influences[self._sets.negative] = _share(n0, units[1]) * (1 - below / (2 * n1) - auc)
        return influences

    def _score(self, terms: Mapping[Term, FloatArray | None]) -> FloatArray | None:
        influences = np.zeros(self._ranks.size)
        for name, weight in self._settings.weights.as_dict().items():
            influence = terms[cast("Term", name)]
            if weight and influence is None:
                return None
            if influence is not None:
                influences += weight * influence
        return influences


Slopes = Mapping[str, float]


class _Background:
    """The influences of background rows, as a sum of step functions of the rank, one per identity."""

    def __init__(self, rank_count: int) -> None:
        self._rank_count = rank_count
        self._ranks: list[IndexArray] = []
        self._heights: list[NDArray[Any]] = []
        self._constant = 0.0

    def add(self, steps: RankSteps, height: float, constant: float) -> None:
        """Add a step function of the rank.

        Its value is `constant`, plus `height` for each row below the rank and half of `height` for each row
        at the rank.
        """
        self._ranks.append(steps.ranks)
        self._heights.append(height * steps.counts)
        self._constant += constant

    def by_rank(self) -> FloatArray:
        """Return the sum of the step functions at every rank."""
        if not self._ranks:
            return np.zeros(self._rank_count)
        heights = np.bincount(
            np.concatenate(self._ranks), weights=np.concatenate(self._heights), minlength=self._rank_count
        )
        summed: FloatArray = np.cumsum(heights)
        summed -= heights / 2
        summed += self._constant
        return summed


def _gap_variance(steps: RankSteps, gap: float | None) -> float | None:
    """Return the variance of the AUC that compares background and subgroup rows of one class."""
    size, background = steps.size, steps.everybody.size - steps.size
    if gap is None or min(size, background) < 2:
        return None
    auc = 0.5 - gap
    of_subgroup = steps.spread(steps.doubled_in_background, 2 * background, 1 - auc)
    of_background = steps.spread_of_background(auc)
    return of_subgroup / (size * (size - 1)) + of_background / (background * (background - 1))


def mean_slopes(report: BiasReport, term: BiasAuc, settings: MetricSettings) -> Slopes:
    """Return the derivatives of a power mean by identity; empty if the mean is not differentiable."""
    values = {line.name: getattr(line, term) for line in report.subgroups if line.in_score}
    defined = {name: value for name, value in values.items() if value is not None}
    mean = getattr(report.power_means, term)
    if mean is None or not defined or min(defined.values()) <= 0:
        return {}
    if math.isinf(settings.power):
        extremes = [name for name, value in defined.items() if value == mean]
        return {name: float(name == extremes[0]) for name in defined} if len(extremes) == 1 else {}
    return {name: (mean / value) ** (1 - settings.power) / len(defined) for name, value in defined.items()}


def _share(size: int, units: int) -> float:
    """Return the weight of a row in a set."""
    return 1 / scale(size, units)

"""Paired test of two submissions: difference, confidence interval and p-value."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from grader.metrics.bias.analysis.influence import Counts, Measured, Sets, Term, variance_of
from grader.metrics.bias.analysis.intervals import (
    CHECKED_DIFFERENCES,
    LEVEL,
    ByTerm,
    compared_sizes,
    is_checked_cell,
    is_checked_term,
    quantile,
    two_sided_p_value,
)
from grader.metrics.bias.analysis.placements import (
    PlacementTable,
    by_cell,
    cell_influence,
    cell_influences,
    compared_rows,
)
from grader.metrics.bias.flat import Flat
from grader.metrics.bias.prepared import FloatArray
from grader.metrics.bias.subgroups import BIAS_AUCS, CELLS, Cell
from grader.metrics.ranks import RankArray


@dataclass(frozen=True, slots=True)
class Difference(Flat):
    """The candidate's value minus the baseline's; undefined values are None.

    Attributes
    ----------
    difference, standard_error : float or None
        The difference and its standard error. Both submissions are measured on the same rows, so sampling
        errors common to both cancel out.
    low, high : float or None
        Bounds of the confidence interval, symmetric about the difference. None if the standard error is 0,
        because the sampling error cannot be estimated in this case.
    p_value : float or None
        The p-value of the two-sided test of the hypothesis that the true difference is 0. If the standard
        error is 0, it is 1 for equal values and None otherwise.
    is_checked : bool
        Whether both submissions are in the range for which the coverage of these intervals was validated: at
        least 50 rows in each compared set, and AUCs between 0.6 and 0.95.

    Examples
    --------
    >>> from fairboard import compare_models
    >>> compare_models([1, 1, 0, 0], [4, 3, 2, 1], [4, 2, 3, 1], {}).overall_auc.difference
    0.25
    """

    DERIVED = ("is_tied",)

    difference: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    p_value: float | None
    is_checked: bool = False

    @property
    def is_tied(self) -> bool | None:
        """Whether the interval contains 0, so the data cannot show which submission is better."""
        if self.low is None or self.high is None:
            return True if self.p_value == 1 else None
        return self.low <= 0 <= self.high


class PairedReport(ByTerm[Difference]):
    """The differences between two submissions or sets, candidate minus baseline.

    Examples
    --------
    >>> from fairboard import compare_models
    >>> found = compare_models([1, 1, 0, 0], [4, 3, 2, 1], [4, 2, 3, 1], {"cat": [1, 1, 1, 1]})
    >>> found.cells["cat"]["subgroup_auc"].is_tied
    True
    """

    __slots__ = ()

    def false_discovery_rates(self) -> dict[str, dict[Cell, float | None]]:
        """Return the adjusted p-value of each cell, by identity.

        Among the cells whose adjusted p-value is at most q, the expected share of cells without a true
        difference is at most q. Cells without a p-value have none. ``benchmarks/coverage.py`` measures how
        often comparisons of equally good models list a cell.

        References
        ----------
        Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995). The tests of overlapping
        cells are positively dependent, for which the procedure is valid as well (Benjamini and Yekutieli,
        Annals of Statistics 29, 2001).
        """
        rates: dict[str, dict[Cell, float | None]] = {
            name: dict.fromkeys(cells) for name, cells in self.cells.items()
        }
        tested = sorted(
            (each.p_value, name, cell)
            for name, cells in self.cells.items()
            for cell, each in cells.items()
            if each.p_value is not None
        )
        lowest = 1.0
        for place, (p_value, name, cell) in reversed(list(enumerate(tested, start=1))):
            lowest = min(lowest, p_value * len(tested) / place)
            rates[name][cell] = lowest
        return rates

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with the false discovery rate of each cell."""
        data = super().as_dict()
        for name, rates in self.false_discovery_rates().items():
            for cell, rate in rates.items():
                data["subgroups"][name][cell]["false_discovery_rate"] = rate
        return data


def score_difference(candidate: Measured, baseline: Measured, *, level: float = LEVEL) -> Difference:
    """Return the difference between two scores on the same rows, as used to detect tied teams.

    Parameters
    ----------
    candidate, baseline : Measured
        Two submissions on the same split, with the same settings.
    level : float
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Difference
        The candidate's score minus the baseline's; all values are None if either score is undefined.
    """
    return _Comparison((candidate, baseline), level, has_common_rows=True).term("score")


def paired_report(
    sets: Sets, candidate: Measured, baseline: Measured, *, level: float = LEVEL
) -> PairedReport:
    """Return all differences between two submissions on the same rows.

    Parameters
    ----------
    sets : Sets
        The row sets of the split on which both submissions were measured.
    candidate, baseline : Measured
        The submissions to compare. Differences are candidate minus baseline.
    level : float
        Confidence level of the intervals, in (0, 1).

    Returns
    -------
    PairedReport
        The differences; None for metrics that are undefined for either submission.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson, Biometrics 44 (1988): the covariance of correlated AUCs.
    """
    comparison = _Comparison((candidate, baseline), level, has_common_rows=True)
    return comparison.report(_influences(sets, (candidate.ranks, baseline.ranks)))


def _influences(sets: Sets, ranks: Sequence[RankArray]) -> Iterator[dict[Cell, FloatArray | None]]:
    """Yield the influences on the differences between two submissions for each identity."""
    standings = [PlacementTable.of(each, sets.split.labels) for each in ranks]
    for name, members in zip(sets.split.names, sets.split.members, strict=True):
        compared = compared_rows(sets.split.labels, members)
        placed = [each.of_identity(*compared["subgroup_auc"]) for each in standings]
        differences: dict[Cell, FloatArray | None] = {}
        for cell, units in by_cell(*sets.units[name]).items():
            differences[cell] = None
            if min(units) > 1:
                rows = compared[cell]
                mine, theirs = (each.placements(cell, *rows) for each in placed)
                apart = (mine[0] - theirs[0], mine[1] - theirs[1])
                differences[cell] = cell_influence(sets.split.rows, rows, apart, units)
        yield differences


def two_set_report(measured: tuple[Measured, Measured], *, level: float = LEVEL) -> PairedReport:
    """Return the differences between two sets of rows with the same identities, first minus second.

    Parameters
    ----------
    measured : (Measured, Measured)
        The values of one model on each set. Rows in clusters with the same number depend on each other, also
        across the sets, as twins do. All other rows are independent.
    level : float
        Confidence level of the intervals, in (0, 1). Their coverage was not validated.
    """
    comparison = _Comparison(measured, level, has_common_rows=False)
    influences = (cell_influences(each.sets.split, each.ranks, each.sets.units) for each in measured)
    return comparison.report(
        {cell: comparison.apart(each, other[cell]) for cell, each in one.items()}
        for (_, one), (_, other) in zip(*influences, strict=True)
    )


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Two submissions on common rows, or one model on two sets of rows with the same identities."""

    pair: tuple[Measured, Measured]
    level: float
    has_common_rows: bool

    @cached_property
    def clusters(self) -> Counts | None:
        """The clusters of the rows, for two sets in the order of `apart`; None if rows are independent."""
        first, second = (each.sets.clusters for each in self.pair)
        if first is None or second is None or self.has_common_rows:
            return first
        return np.concatenate([second, first])

    def apart(self, mine: FloatArray | None, theirs: FloatArray | None) -> FloatArray | None:
        """Return the influences on a difference, given those on both values."""
        if mine is None or theirs is None:
            return None
        return mine - theirs if self.has_common_rows else np.concatenate([-theirs, mine])

    def report(self, influences: Iterable[Mapping[Cell, FloatArray | None]]) -> PairedReport:
        """Return all differences, given the influences on the differences of each identity's cells."""
        cells: dict[str, dict[Cell, Difference]] = {}
        reports = [each.report for each in self.pair]
        for *lines, of_identity in zip(*(each.subgroups for each in reports), influences, strict=True):
            name = lines[0].name
            sizes = [compared_sizes(*each) for each in zip(reports, lines, strict=True)]
            cells[name] = {}
            for cell in CELLS:
                values = [getattr(line, cell) for line in lines]
                checked = all(
                    value is not None and is_checked_cell(cell, value, rows[cell], CHECKED_DIFFERENCES)
                    for value, rows in zip(values, sizes, strict=True)
                )
                influence, where = of_identity[cell], (cell, name)
                cells[name][cell] = self._difference(values, influence, where, is_checked=checked)
        means = {term: self.term(term) for term in BIAS_AUCS}
        return PairedReport(self.level, self.term("score"), self.term("overall_auc"), means, cells)

    def term(self, name: Term) -> Difference:
        """Return the difference between two scores, or between two values of a term."""
        values = [{"score": each.report.score, **each.report.terms}[name] for each in self.pair]
        influences = [each.influences.terms[name] for each in self.pair]
        checked = all(is_checked_term(each.report, name, CHECKED_DIFFERENCES) for each in self.pair)
        return self._difference(values, self.apart(*influences), (name,), is_checked=checked)

    def _difference(
        self,
        values: Sequence[float | None],
        influence: FloatArray | None,
        where: tuple[Term] | tuple[Cell, str],
        *,
        is_checked: bool,
    ) -> Difference:
        value, other = values
        if value is None or other is None:
            return Difference(None, None, None, None, None)
        difference, variance = value - other, variance_of(influence, self.clusters)
        if variance is None:
            return Difference(difference, None, None, None, None)
        error = math.sqrt(variance)
        if not error:
            return Difference(difference, error, None, None, 1.0 if difference == 0 else None)
        degrees = min(each.sets.degrees(*where) for each in self.pair)
        reach = quantile(self.level, degrees) * error
        p_value = two_sided_p_value(difference / error, degrees)
        is_checked &= self.has_common_rows and self.clusters is None
        return Difference(difference, error, difference - reach, difference + reach, p_value, is_checked)

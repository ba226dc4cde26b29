"""Paired test of two submissions: difference, confidence interval and p-value."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.analysis.influence import Counts, Influences, Sets, influences, variance_of
from grader.metrics.analysis.intervals import (
    CHECKED_DIFFERENCES,
    LEVEL,
    ByTerm,
    is_checked_cell,
    is_checked_mean,
    is_checked_overall,
    is_checked_score,
    quantile,
)
from grader.metrics.analysis.placements import (
    Compared,
    Placed,
    Standings,
    cell_influence,
    cell_influences,
    compared_rows,
)
from grader.metrics.metric_settings import MetricSettings
from grader.metrics.prepared import FloatArray, as_vector
from grader.metrics.ranks import RankArray, count_ranks, dense_ranks
from grader.metrics.reports import BiasReport, report
from grader.metrics.subgroups import BIAS_AUCS, CELLS, BiasAuc, Cell

Term = Literal["score", "overall_auc"] | BiasAuc
Apart = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Difference:
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

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {name: getattr(self, name) for name in (*self.__slots__, "is_tied")}


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
        difference is at most q. Cells without a p-value have none.

        References
        ----------
        Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995). The tests of overlapping
        cells are positively dependent, for which the procedure is valid as well (Benjamini and Yekutieli,
        Annals of Statistics 29, 2001).
        """
        found: dict[str, dict[Cell, float | None]] = {
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
            found[name][cell] = lowest
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with the false discovery rate of each cell."""
        found = super().as_dict()
        for name, rates in self.false_discovery_rates().items():
            for cell, rate in rates.items():
                found["subgroups"][name][cell]["false_discovery_rate"] = rate
        return found


@dataclass(frozen=True, eq=False)
class Measured:
    """One submission's ranks, report and influences on a split, for repeated comparisons."""

    ranks: RankArray
    report: BiasReport
    influences: Influences
    clusters: Counts | None = None

    @classmethod
    def of(cls, sets: Sets, y_score: ArrayLike, settings: MetricSettings | None = None) -> "Measured":
        """Measure a submission; raise ValueError for the same invalid inputs as `count_pairs` does."""
        settings = settings or MetricSettings()
        ranks = dense_ranks(as_vector("y_score", y_score, rows=sets.split.rows))
        values = report(count_ranks(sets.ranked, ranks), settings)
        return cls(ranks, values, influences(sets, ranks, values, settings), sets.clusters)


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
    return _term("score", (candidate, baseline), np.subtract, candidate.clusters, level)


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
    reports = candidate.report, baseline.report
    standings = [Standings.of(each.ranks, sets.split.labels) for each in (candidate, baseline)]
    cells = {}
    for members, line, other in zip(
        sets.split.members, reports[0].subgroups, reports[1].subgroups, strict=True
    ):
        compared = compared_rows(sets.split.labels, members)
        subgroup = compared["subgroup_auc"]
        placed = [each.of_identity(*subgroup) for each in standings]
        cells[line.name] = {
            cell: _of_cell(
                cell, getattr(line, cell), getattr(other, cell), compared[cell], placed, sets, level
            )
            for cell in CELLS
        }
    return _report((candidate, baseline), cells, np.subtract, sets.clusters, level)


def two_set_report(
    sets: tuple[Sets, Sets], measured: tuple[Measured, Measured], *, level: float = LEVEL
) -> PairedReport:
    """Return the differences between two sets of rows with the same identities, first minus second.

    Parameters
    ----------
    sets : (Sets, Sets)
        The two sets. Rows in clusters with the same number depend on each other, also across the sets, as
        twins do. All other rows are independent.
    measured : (Measured, Measured)
        The values of one model on each set.
    level : float
        Confidence level of the intervals, in (0, 1). Their coverage was not validated.
    """
    clusters = None
    if sets[0].clusters is not None and sets[1].clusters is not None:
        clusters = np.concatenate([sets[0].clusters, sets[1].clusters])
    first, second = (
        {name: found for name, _, found in cell_influences(one.split, each.ranks)}
        for one, each in zip(sets, measured, strict=True)
    )
    cells: dict[str, dict[Cell, Difference]] = {}
    for line, other in zip(measured[0].report.subgroups, measured[1].report.subgroups, strict=True):
        cells[line.name] = {
            cell: _of_rows(
                getattr(line, cell),
                getattr(other, cell),
                _one_after_another(first[line.name][cell], second[line.name][cell]),
                clusters,
                level,
                is_checked=False,
            )
            for cell in CELLS
        }
    return _report(measured, cells, _one_after_another, clusters, level, is_checked=False)


def _one_after_another(mine: FloatArray | None, theirs: FloatArray | None) -> FloatArray | None:
    return None if mine is None or theirs is None else np.concatenate([mine, -theirs])


_UNDEFINED = Difference(None, None, None, None, None)


def _of_cell(
    cell: Cell,
    value: float | None,
    other: float | None,
    compared: Compared,
    placed: Sequence[Placed],
    sets: Sets,
    level: float,
) -> Difference:
    if value is None or other is None:
        return _UNDEFINED
    mine, theirs = (each.placements(cell, *compared) for each in placed)
    apart = (mine[0] - theirs[0], mine[1] - theirs[1])
    influence = cell_influence(sets.split.rows, compared, apart)
    sizes = (compared[0].size, compared[1].size)
    checked = all(is_checked_cell(cell, each, sizes, CHECKED_DIFFERENCES) for each in (value, other))
    return _of_rows(value, other, influence, sets.clusters, level, is_checked=checked)


def _report(
    pair: tuple[Measured, Measured],
    cells: Mapping[str, Mapping[Cell, Difference]],
    apart: Apart,
    clusters: Counts | None,
    level: float,
    *,
    is_checked: bool = True,
) -> PairedReport:
    def term(name: Term) -> Difference:
        return _term(name, pair, apart, clusters, level, is_checked=is_checked)

    means = {each: term(each) for each in BIAS_AUCS}
    return PairedReport(level, term("score"), term("overall_auc"), means, cells)


def _term(
    name: Term,
    pair: tuple[Measured, Measured],
    apart: Apart,
    clusters: Counts | None,
    level: float,
    *,
    is_checked: bool = True,
) -> Difference:
    if name == "score" or name == "overall_auc":
        values = [getattr(each.report, name) for each in pair]
        mine, theirs = (getattr(each.influences, name) for each in pair)
        check = is_checked_score if name == "score" else is_checked_overall
        checked = all(check(each.report, CHECKED_DIFFERENCES) for each in pair)
    else:
        values = [getattr(each.report.power_means, name) for each in pair]
        mine, theirs = (each.influences.power_means[name] for each in pair)
        checked = all(is_checked_mean(each.report, name, CHECKED_DIFFERENCES) for each in pair)
    influence = None if mine is None or theirs is None else apart(mine, theirs)
    return _of_rows(values[0], values[1], influence, clusters, level, is_checked=is_checked and checked)


def _of_rows(
    value: float | None,
    other: float | None,
    apart: FloatArray | None,
    clusters: Counts | None,
    level: float,
    *,
    is_checked: bool,
) -> Difference:
    if value is None or other is None:
        return _UNDEFINED
    if apart is None:
        return Difference(value - other, None, None, None, None)
    error = math.sqrt(variance_of(apart, clusters))
    return _difference(value - other, error, level, is_checked=is_checked and clusters is None)


def _difference(difference: float, error: float, level: float, *, is_checked: bool) -> Difference:
    reach = quantile(level) * error
    if not error:
        return Difference(difference, error, None, None, 1.0 if difference == 0 else None)
    p_value = math.erfc(abs(difference) / error / math.sqrt(2))
    return Difference(difference, error, difference - reach, difference + reach, p_value, is_checked)

"""Paired test of two submissions: difference, confidence interval and p-value."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.analysis.influence import CELLS, Influences, Sets, influences
from grader.metrics.analysis.intervals import (
    LEVEL,
    ByTerm,
    by_cell,
    is_checked_cell,
    is_checked_mean,
    is_checked_overall,
    is_checked_score,
    quantile,
)
from grader.metrics.metric_settings import MetricSettings
from grader.metrics.prepared import BoolArray, FloatArray, IndexArray, as_vector
from grader.metrics.ranks import RankArray, count_ranks, dense_ranks
from grader.metrics.reports import BiasReport, report
from grader.metrics.subgroups import BIAS_AUCS, Cell


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
        Whether both submissions are in the range for which the coverage of intervals was validated.
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
        return asdict(self) | {"is_tied": self.is_tied}


class PairedReport(ByTerm[Difference]):
    """The differences between two submissions, candidate minus baseline."""

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class Measured:
    """One submission's ranks, report and influences on a split, for repeated comparisons."""

    ranks: RankArray
    report: BiasReport
    influences: Influences

    @classmethod
    def of(cls, sets: Sets, y_score: ArrayLike, settings: MetricSettings | None = None) -> "Measured":
        """Measure a submission; raise ValueError for the same invalid inputs as `count_pairs` does."""
        settings = settings or MetricSettings()
        ranks = dense_ranks(as_vector("y_score", y_score, rows=sets.split.rows))
        values = report(count_ranks(sets.ranked, ranks), settings)
        return cls(ranks, values, influences(sets, ranks, values, settings))


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
    return _of_rows(
        candidate.report.score,
        baseline.report.score,
        candidate.influences.score,
        baseline.influences.score,
        level,
        is_checked=all(is_checked_score(each.report) for each in (candidate, baseline)),
    )


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
    mine, theirs = (each.influences.power_means for each in (candidate, baseline))
    standings = [_Standings.of(each.ranks, sets.split.labels) for each in (candidate, baseline)]
    cells = {}
    for members, line, other in zip(
        sets.split.members, reports[0].subgroups, reports[1].subgroups, strict=True
    ):
        compared = _compared(sets.split.labels, members)
        subgroup = compared["subgroup_auc"]
        placed = [each.of_identity(*subgroup) for each in standings]
        cells[line.name] = {
            cell: _of_cell(cell, getattr(line, cell), getattr(other, cell), compared[cell], placed, level)
            for cell in CELLS
        }
    return PairedReport(
        level=level,
        score=score_difference(candidate, baseline, level=level),
        overall_auc=_of_rows(
            reports[0].overall_auc,
            reports[1].overall_auc,
            candidate.influences.overall_auc,
            baseline.influences.overall_auc,
            level,
            is_checked=all(map(is_checked_overall, reports)),
        ),
        power_means={
            term: _of_rows(
                getattr(reports[0].power_means, term),
                getattr(reports[1].power_means, term),
                mine[term],
                theirs[term],
                level,
                is_checked=all(is_checked_mean(each, term) for each in reports),
            )
            for term in BIAS_AUCS
        },
        cells=cells,
    )


_Compared = tuple[IndexArray, IndexArray]
_UNDEFINED = Difference(None, None, None, None, None)


def _compared(positive: BoolArray, members: IndexArray) -> dict[Cell, _Compared]:
    """Return the two compared sets of rows for each cell of an identity."""
    mentions = np.zeros(positive.size, np.bool_)
    mentions[members] = True
    subgroup1, subgroup0 = np.flatnonzero(mentions & positive), np.flatnonzero(mentions & ~positive)
    background1, background0 = np.flatnonzero(~mentions & positive), np.flatnonzero(~mentions & ~positive)
    return by_cell(subgroup1, subgroup0, background1, background0)


@dataclass(frozen=True, eq=False)
class _Standings:
    """Doubled placements by rank among the rows of each class.

    A doubled placement is twice the number of rows below the rank plus the number of rows at it.
    """

    ranks: RankArray
    positive: IndexArray
    negative: IndexArray

    @classmethod
    def of(cls, ranks: RankArray, positive: BoolArray) -> "_Standings":
        count = int(ranks.max(initial=0)) + 1
        return cls(ranks, _doubled(ranks[positive], count), _doubled(ranks[~positive], count))

    def of_identity(self, positive: IndexArray, negative: IndexArray) -> "_Placed":
        """Return the doubled placements of the four sets of an identity.

        The counts of a background are those of its class minus those of the subgroup.
        """
        count = self.positive.size
        subgroup1, subgroup0 = (_doubled(self.ranks[rows], count) for rows in (positive, negative))
        background1, background0 = self.positive - subgroup1, self.negative - subgroup0
        return _Placed(self.ranks, by_cell(subgroup1, subgroup0, background1, background0))


@dataclass(frozen=True, eq=False)
class _Placed:
    """A submission's ranks, and doubled placements for the sets of each cell of an identity."""

    ranks: RankArray
    doubled: Mapping[Cell, tuple[IndexArray, IndexArray]]

    def placements(self, cell: Cell, first: IndexArray, second: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return, for each row, the fraction of rows in the other set that rank on the correct side of it."""
        of_first, of_second = self.doubled[cell]
        below_first = of_second[self.ranks[first]] / (2 * second.size)
        return below_first, 1 - of_first[self.ranks[second]] / (2 * first.size)


def _doubled(ranks: RankArray, count: int) -> IndexArray:
    at = np.bincount(ranks, minlength=count)
    return 2 * np.cumsum(at) - at


def _of_cell(
    cell: Cell,
    value: float | None,
    other: float | None,
    compared: _Compared,
    placed: Sequence[_Placed],
    level: float,
) -> Difference:
    if value is None or other is None:
        return _UNDEFINED
    sizes = (compared[0].size, compared[1].size)
    if min(sizes) < 2:
        return Difference(value - other, None, None, None, None)
    variance = 0.0
    mine, theirs = (each.placements(cell, *compared) for each in placed)
    for size, one, two in zip(sizes, mine, theirs, strict=True):
        variance += float(np.var(one - two, ddof=1)) / size
    checked = all(is_checked_cell(cell, each, sizes) for each in (value, other))
    return _difference(value - other, math.sqrt(variance), level, is_checked=checked)


def _of_rows(
    value: float | None,
    other: float | None,
    mine: FloatArray | None,
    theirs: FloatArray | None,
    level: float,
    *,
    is_checked: bool,
) -> Difference:
    if value is None or other is None:
        return _UNDEFINED
    if mine is None or theirs is None:
        return Difference(value - other, None, None, None, None)
    error = math.sqrt(float(np.square(mine - theirs).sum()))
    return _difference(value - other, error, level, is_checked=is_checked)


def _difference(difference: float, error: float, level: float, *, is_checked: bool) -> Difference:
    reach = quantile(level) * error
    if not error:
        return Difference(difference, error, None, None, 1.0 if difference == 0 else None)
    p_value = math.erfc(abs(difference) / error / math.sqrt(2))
    return Difference(difference, error, difference - reach, difference + reach, p_value, is_checked)

"""The report with intervals: every AUC, AEG, power mean and the score, with how sure it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.analysis.influence import Influences, Sets, influences
from grader.metrics.analysis.intervals import (
    LEVEL,
    NOTHING,
    Estimate,
    estimate,
    gap_estimate,
    is_checked_auc,
    is_checked_gap,
)
from grader.metrics.prepared import FloatArray, as_vector
from grader.metrics.ranks import count_ranks, dense_ranks
from grader.metrics.reports import BiasReport, report
from grader.metrics.settings import MetricSettings
from grader.metrics.subgroups import BIAS_AUCS, BiasAuc, Cell, SubgroupReport

GAPS: tuple[Cell, ...] = ("positive_aeg", "negative_aeg")


@dataclass(frozen=True, slots=True)
class UncertaintyReport:
    """A bias report and the estimates of all its values.

    Attributes
    ----------
    report : BiasReport
        The values, as everywhere.
    level : float
        Of the intervals.
    score, overall_auc : Estimate
        Of the score and its first term.
    power_means : mapping of str to Estimate
        The three other terms.
    cells : mapping of str to mapping of Cell to Estimate
        For each identity its three AUCs and two AEGs.
    """

    report: BiasReport
    level: float
    score: Estimate
    overall_auc: Estimate
    power_means: Mapping[BiasAuc, Estimate]
    cells: Mapping[str, Mapping[Cell, Estimate]]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "level": self.level,
            "score": self.score.as_dict(),
            "overall_auc": self.overall_auc.as_dict(),
            "power_means": {term: each.as_dict() for term, each in self.power_means.items()},
            "subgroups": {
                name: {cell: each.as_dict() for cell, each in cells.items()}
                for name, cells in self.cells.items()
            },
        }


def uncertainty_report(
    sets: Sets, y_score: ArrayLike, settings: MetricSettings | None = None, *, level: float = LEVEL
) -> UncertaintyReport:
    """Measure a submission on one split, with an interval for every value.

    Parameters
    ----------
    sets : Sets
        The split, prepared once: ``Sets(prepare(labels, identities))``.
    y_score : array_like, shape (rows,)
        One finite number per row.
    settings : MetricSettings, optional
        By default those of the Kaggle competition.
    level : float
        The share of intervals that should hold the true value, in (0, 1).

    Returns
    -------
    UncertaintyReport
        What is undefined has no value; what rests on a set of one row has no interval.

    Raises
    ------
    ValueError
        If `y_score` or `level` is refused.

    Notes
    -----
    The rows are one draw from a larger population, and the model is fixed: the intervals tell how
    far the metric would move on another draw, not how far the model would on another training.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson, Biometrics 44 (1988); the carried influence values are the
    delta method on the same components.

    Examples
    --------
    >>> from grader.metrics import prepare
    >>> sets = Sets(prepare([1, 1, 1, 0, 0, 0], {"cat": [1, 1, 0, 1, 1, 0]}))
    >>> found = uncertainty_report(sets, [0.9, 0.4, 0.7, 0.5, 0.2, 0.1])
    >>> found.overall_auc.value, round(found.overall_auc.standard_error, 3)
    (0.8888888888888888, 0.157)
    """
    settings = settings or MetricSettings()
    ranks = dense_ranks(as_vector("y_score", y_score, rows=sets.split.rows))
    values = report(count_ranks(sets.ranked, ranks), settings)
    found = influences(sets, ranks, values, settings)
    cells = {line.name: _cells(values, line, found.variances[line.name], level) for line in values.subgroups}
    overall = _of_rows(
        values.overall_auc,
        found.overall_auc,
        level,
        is_checked=values.overall_auc is not None
        and is_checked_auc(values.overall_auc, values.positives, values.rows - values.positives),
    )
    means = {term: _mean(values, term, found, cells, level) for term in BIAS_AUCS}
    return UncertaintyReport(
        report=values,
        level=level,
        score=_of_rows(
            values.score,
            found.score,
            level,
            is_checked=overall.is_checked and all(mean.is_checked for mean in means.values()),
        ),
        overall_auc=overall,
        power_means=means,
        cells=cells,
    )


def _cells(
    values: BiasReport, line: SubgroupReport, variances: Mapping[Cell, float | None], level: float
) -> dict[Cell, Estimate]:
    n1, n0 = line.positives, line.size - line.positives
    b1, b0 = values.positives - n1, values.rows - values.positives - n0
    sizes: dict[Cell, tuple[int, int]] = {
        "subgroup_auc": (n1, n0),
        "bpsn_auc": (b1, n0),
        "bnsp_auc": (n1, b0),
        "positive_aeg": (b1, n1),
        "negative_aeg": (b0, n0),
    }
    found: dict[Cell, Estimate] = {}
    for cell, (first, second) in sizes.items():
        value = getattr(line, cell)
        if value is None:
            found[cell] = NOTHING
        elif cell in GAPS:
            checked = is_checked_gap(0.5 - value, first, second)
            auc = estimate(0.5 - value, variances[cell], is_checked=checked, level=level)
            found[cell] = gap_estimate(auc, value)
        else:
            checked = is_checked_auc(value, first, second)
            found[cell] = estimate(value, variances[cell], is_checked=checked, level=level)
    return found


def _mean(
    values: BiasReport,
    term: BiasAuc,
    found: Influences,
    cells: Mapping[str, Mapping[Cell, Estimate]],
    level: float,
) -> Estimate:
    in_mean = [cells[line.name][term] for line in values.subgroups if line.in_score]
    return _of_rows(
        getattr(values.power_means, term),
        found.power_means[term],
        level,
        is_checked=all(each.is_checked for each in in_mean if each.value is not None),
    )


def _of_rows(
    value: float | None, influence: FloatArray | None, level: float, *, is_checked: bool
) -> Estimate:
    if value is None:
        return NOTHING
    variance = (
        None if influence is None else float(np.square(influence).sum())
    )  # a dot product would wait for BLAS threads
    return estimate(value, variance, is_checked=is_checked, level=level)

"""Bias report with confidence intervals for every AUC, AEG and the score."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.analysis.uncertainty.influence import Sets, influences
from grader.metrics.analysis.uncertainty.intervals import (
    GAPS,
    LEVEL,
    NOTHING,
    Estimate,
    compared_sizes,
    estimate,
    gap_estimate,
    is_checked_cell,
    is_checked_mean,
    is_checked_overall,
    is_checked_score,
)
from grader.metrics.prepared import FloatArray, as_vector
from grader.metrics.ranks import count_ranks, dense_ranks
from grader.metrics.reports import BiasReport, report
from grader.metrics.settings import MetricSettings
from grader.metrics.subgroups import BIAS_AUCS, BiasAuc, Cell, SubgroupReport


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
    return UncertaintyReport(
        report=values,
        level=level,
        score=_of_rows(values.score, found.score, level, is_checked=is_checked_score(values)),
        overall_auc=_of_rows(
            values.overall_auc, found.overall_auc, level, is_checked=is_checked_overall(values)
        ),
        power_means={
            term: _of_rows(
                getattr(values.power_means, term),
                found.power_means[term],
                level,
                is_checked=is_checked_mean(values, term),
            )
            for term in BIAS_AUCS
        },
        cells=cells,
    )


def _cells(
    values: BiasReport, line: SubgroupReport, variances: Mapping[Cell, float | None], level: float
) -> dict[Cell, Estimate]:
    found: dict[Cell, Estimate] = {}
    for cell, sizes in compared_sizes(values, line).items():
        value = getattr(line, cell)
        if value is None:
            found[cell] = NOTHING
            continue
        auc = 0.5 - value if cell in GAPS else value
        checked = is_checked_cell(cell, value, sizes)
        found[cell] = estimate(auc, variances[cell], is_checked=checked, level=level)
        if cell in GAPS:
            found[cell] = gap_estimate(found[cell], value)
    return found


def _of_rows(
    value: float | None, influence: FloatArray | None, level: float, *, is_checked: bool
) -> Estimate:
    if value is None:
        return NOTHING
    variance = (
        None if influence is None else float(np.square(influence).sum())
    )  # a dot product would wait for BLAS threads
    return estimate(value, variance, is_checked=is_checked, level=level)

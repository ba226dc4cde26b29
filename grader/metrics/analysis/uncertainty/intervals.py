"""Confidence intervals of AUCs and scores, and for which sizes and values their coverage was checked."""

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

from grader.metrics.reports import BiasReport
from grader.metrics.subgroups import BIAS_AUCS, BiasAuc, Cell, SubgroupReport

GAPS: tuple[Cell, ...] = ("positive_aeg", "negative_aeg")
LEVEL = 0.95
CHECKED_ROWS = 50
CHECKED_AUCS = (0.6, 0.95)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its standard error and interval; None is undefined.

    Attributes
    ----------
    value : float or None
        The metric on the rows there are.
    standard_error : float or None
        Of another draw of rows of the same sizes. None where a compared set has fewer than 2 rows.
    low, high : float or None
        The interval. None without a standard error, and where that is 0: at the ends of the scale
        (an AUC of 0 or 1), or where all compared rows are ties. The rows then differ in nothing,
        and do not tell how far off another draw would be.
    is_checked : bool
        Whether the interval is in the range where its coverage was checked: at least 50 rows in
        each compared set, and for AUCs a value between 0.6 and 0.95 (for an AEG, the AUC between
        0.05 and 0.95 that it derives from; for a mean, each of its values).
    """

    value: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    is_checked: bool

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


NOTHING = Estimate(None, None, None, None, is_checked=False)


def quantile(level: float) -> float:
    """Return how many standard errors a two-sided normal interval of this level reaches.

    Raises
    ------
    ValueError
        If the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"`level` must be between 0 and 1, not {level!r}.")
    return NormalDist().inv_cdf((1 + level) / 2)


def logit_interval(
    value: float, standard_error: float, level: float = LEVEL
) -> tuple[float, float] | tuple[None, None]:
    r"""Return the interval of a value in (0, 1) that is symmetric on the logit scale.

    Parameters
    ----------
    value : float
        An AUC, a power mean or a score.
    standard_error : float
        Its standard error, on its own scale.
    level : float
        The share of intervals that should hold the true value.

    Returns
    -------
    tuple of float
        Never outside 0..1. Where the value is 0 or 1, or the error 0, nothing is known: (None, None).

    Notes
    -----
    .. math:: \operatorname{logit}^{-1}\left(\operatorname{logit} A \pm z \frac{SE}{A (1 - A)}\right)

    References
    ----------
    Pepe, The Statistical Evaluation of Medical Tests for Classification and Prediction (2003),
    section 5.2.5.
    """
    if not (0 < value < 1 and standard_error):
        return None, None
    center = math.log(value / (1 - value))
    reach = quantile(level) * standard_error / (value * (1 - value))
    return _expit(center - reach), _expit(center + reach)


def estimate(value: float, variance: float | None, *, is_checked: bool, level: float = LEVEL) -> Estimate:
    """Return the estimate of an AUC, a power mean or a score."""
    if variance is None:
        return Estimate(value, None, None, None, is_checked=False)
    error = math.sqrt(variance)
    low, high = logit_interval(value, error, level)
    return Estimate(value, error, low, high, is_checked and low is not None)


def gap_estimate(auc: Estimate, gap: float) -> Estimate:
    """Return the estimate of an AEG, which is one half minus an AUC, by that AUC's interval."""
    low = None if auc.high is None else 0.5 - auc.high
    high = None if auc.low is None else 0.5 - auc.low
    return Estimate(gap, auc.standard_error, low, high, auc.is_checked)


def is_checked_cell(cell: Cell, value: float, sizes: tuple[int, int]) -> bool:
    """Return whether the coverage of a cell's interval was checked for such a value and such compared sets.

    An AEG is looked at by the AUC that it derives from, which lies about one half.
    """
    lowest, highest = CHECKED_AUCS
    auc, lowest = (0.5 - value, 1 - highest) if cell in GAPS else (value, lowest)
    return min(sizes) >= CHECKED_ROWS and lowest <= auc <= highest


def is_checked_overall(values: BiasReport) -> bool:
    """Return the same for the overall AUC."""
    sizes = values.positives, values.rows - values.positives
    return values.overall_auc is not None and is_checked_cell("subgroup_auc", values.overall_auc, sizes)


def compared_sizes(values: BiasReport, line: SubgroupReport) -> dict[Cell, tuple[int, int]]:
    """Return how many rows are in the two sets behind each cell of an identity."""
    n1, n0 = line.positives, line.size - line.positives
    b1, b0 = values.positives - n1, values.rows - values.positives - n0
    return {
        "subgroup_auc": (n1, n0),
        "bpsn_auc": (b1, n0),
        "bnsp_auc": (n1, b0),
        "positive_aeg": (b1, n1),
        "negative_aeg": (b0, n0),
    }


def is_checked_mean(values: BiasReport, term: BiasAuc) -> bool:
    """Return the same for a power mean: whether each of its values is in that range."""
    return all(
        is_checked_cell(term, value, compared_sizes(values, line)[term])
        for line in values.subgroups
        if line.in_score and (value := getattr(line, term)) is not None
    )


def is_checked_score(values: BiasReport) -> bool:
    """Return the same for the score: whether each of its terms is in that range."""
    return is_checked_overall(values) and all(is_checked_mean(values, term) for term in BIAS_AUCS)


def _expit(value: float) -> float:
    if value >= 0:
        return 1 / (1 + math.exp(-min(value, 700.0)))
    small = math.exp(max(value, -700.0))
    return small / (1 + small)

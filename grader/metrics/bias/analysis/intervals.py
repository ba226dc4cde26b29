"""Confidence intervals for AUCs and scores."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.bias.analysis.influence import (
    Measured,
    Sets,
    Term,
    effective_size,
    mean_slopes,
    variance_of,
)
from grader.metrics.bias.analysis.placements import by_cell, cell_influences
from grader.metrics.bias.flat import Flat
from grader.metrics.bias.metric_settings import MetricSettings
from grader.metrics.bias.prepared import FloatArray, cluster_numbers
from grader.metrics.bias.reports import BiasReport
from grader.metrics.bias.subgroups import BIAS_AUCS, GAPS, BiasAuc, Cell, SubgroupReport

LEVEL = 0.95
# Number of misordered rows at which an AUC's interval relies equally on a model and on the variance.
FEW_MISORDERED = 5


class ValidatedRange(NamedTuple):
    """A range for which the coverage of intervals was validated: rows per compared set, and AUCs."""

    rows: int
    lowest: float
    highest: float


# The powers, the number of identities, the bias in standard errors, and the highest value for which the
# coverage of intervals of power means and scores was validated. Single AUCs may be higher.
CHECKED_POWERS = (-10.0, 1.0)
CHECKED_IDENTITIES = 50
CHECKED_BIAS = 0.4
CHECKED_MEAN = 0.98
CHECKED_CELLS = ValidatedRange(4, 0.5, 0.999)
CHECKED_MEANS = ValidatedRange(8, 0.6, 1.0)
CHECKED_DIFFERENCES = ValidatedRange(50, 0.6, 0.95)


@dataclass(frozen=True, slots=True)
class Estimate(Flat):
    """A metric with its standard error and confidence interval; undefined values are None.

    Attributes
    ----------
    value : float or None
        The metric on the observed rows.
    standard_error : float or None
        Standard error over samples with the same number of rows in each set. None if a compared set has
        fewer than 2 rows.
    low, high : float or None
        Bounds of the confidence interval: `auc_interval` for an AUC or AEG, and `logit_interval` for a power
        mean or the score, which is centered on the value without its bias. None if the standard error is
        None. For a power mean or the score, also None if the standard error is 0, which means that the
        compared rows do not vary.
    is_checked : bool
        Whether the interval is in the range for which its coverage was validated: at least 4 rows in each
        compared set, and an AUC of at most 0.999 that is at least 0.5 (for an AEG, an underlying AUC of at
        least 0.001). For a power mean or the score, each compared set must have at least 8 rows, each AUC
        must be at least 0.6, and the value at most 0.98. The power must be between -10 and 1, with at most
        50 identities, and the expected bias at most 0.4 standard errors.

    Examples
    --------
    >>> from fairboard import bias_intervals
    >>> auc = bias_intervals([1, 1, 0, 0], [0.9, 0.4, 0.5, 0.1], {}).overall_auc
    >>> auc.value, auc.low < auc.value < auc.high, auc.is_checked
    (0.75, True, False)
    """

    value: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    is_checked: bool


Found = TypeVar("Found", bound=Flat)
NOTHING = Estimate(None, None, None, None, is_checked=False)


def quantile(level: float, degrees: int | None = None) -> float:
    """Return the half-width of a two-sided interval, in standard errors.

    The interval is normal, or that of Student's distribution with the given degrees of freedom.

    Raises
    ------
    ValueError
        If the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"`level` must be between 0 and 1, not {level!r}.")
    if degrees is not None:
        return student_quantile(level, degrees)
    return NormalDist().inv_cdf((1 + level) / 2)


def logit_interval(
    value: float, standard_error: float, level: float = LEVEL, degrees: int | None = None
) -> tuple[float, float] | tuple[None, None]:
    r"""Return the confidence interval of a value in (0, 1), symmetric on the logit scale.

    Parameters
    ----------
    value : float
        An AUC, a power mean or a score.
    standard_error : float
        Its standard error, on the original scale.
    level : float
        The confidence level, in (0, 1).
    degrees : int, optional
        Degrees of freedom, if z is a quantile of Student's distribution.

    Returns
    -------
    tuple of float
        The lower and upper bound, always in [0, 1]; (None, None) if the value is 0 or 1 or the standard
        error is 0.

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
    reach = quantile(level, degrees) * standard_error / (value * (1 - value))
    return _expit(center - reach), _expit(center + reach)


def auc_interval(
    value: float, variance: float, sizes: tuple[int, int], level: float = LEVEL
) -> tuple[float, float]:
    r"""Return the confidence interval of an AUC; it is valid for few rows and for values near 0 and 1.

    Parameters
    ----------
    value : float
        The AUC, in [0, 1].
    variance : float
        Its DeLong variance.
    sizes : tuple of int
        The numbers of rows in both compared sets; each must be at least 2.
    level : float
        The confidence level, in (0, 1).

    Returns
    -------
    tuple of float
        The lower and upper bound, always in [0, 1]. Unlike the logit interval, the interval is defined if the
        variance is 0.

    Notes
    -----
    The interval is Wilson's interval of a share A of :math:`n` rows, where

    .. math:: \frac{1}{n} = \max\left(\frac{t^2}{z^2} u, \; \frac{w}{2k} + (1 - w) u\right), \quad
              u = \frac{V}{A (1 - A)}, \quad w = \frac{5}{5 + k A (1 - A)}.

    Here, V is the DeLong variance, k the size of the smaller set, and t the quantile of Student's
    distribution with k - 1 degrees of freedom. If few rows are misordered, the observed variance is
    unreliable, and the interval tends to that of 2k rows. This is the limit of Hanley and McNeil's variance
    for values near 1 if the other set is large. If many rows are misordered, only the DeLong variance counts.

    References
    ----------
    Wilson, Journal of the American Statistical Association 22 (1927). Hanley and McNeil, Radiology 143
    (1982). Newcombe, Statistics in Medicine 25 (2006), compares such intervals of the Mann-Whitney
    statistic. ``benchmarks/coverage.py`` measures the coverage and the width of this interval and of others.

    Examples
    --------
    >>> low, high = auc_interval(1.0, 0.0, (8, 1000))
    >>> round(low, 3), high
    (0.806, 1.0)
    """
    z, smaller = quantile(level), min(sizes)
    spread = value * (1 - value)
    relative = variance / spread if spread > 0 else 0.0
    share = FEW_MISORDERED / (FEW_MISORDERED + smaller * spread)
    inverse = max(
        (student_quantile(level, smaller - 1) / z) ** 2 * relative,
        share / (2 * smaller) + (1 - share) * relative,
    )
    return _wilson(value, z * z * inverse)


def share_interval(
    outcomes: FloatArray, clusters: ArrayLike | None = None, level: float = LEVEL
) -> tuple[float, float] | tuple[None, None]:
    r"""Return Wilson's interval of a share; (None, None) without outcomes or with only one cluster.

    Parameters
    ----------
    outcomes : ndarray of float64, shape (n,)
        1 for a success, 0 for a failure and 1/2 for a tie. Ties vary less, so the interval is conservative.
    clusters : array_like, shape (n,), optional
        A number or text per outcome. Outcomes with equal values depend on each other.
    level : float
        The confidence level, in (0, 1).

    Notes
    -----
    With G clusters, an effective number replaces n (Korn and Graubard, Survey Methodology 24, 1998):

    .. math:: \frac{1}{n'} = \max\left(\frac{1}{n}, \; \frac{t^2}{z^2} u, \; \frac{w}{G} + (1 - w) u\right)

    Here, :math:`u = V / (p (1 - p))`, V is the cluster-robust variance of the share p, t the quantile of
    Student's distribution with one degree of freedom fewer than the effective number of clusters, and
    :math:`w = 1 / (1 + 2 G p (1 - p))`. If few outcomes differ, each cluster counts as one. With 5 to 50
    clusters, the interval covered 95 to 100 %.

    Examples
    --------
    >>> low, high = share_interval(np.array([1.0, 1.0, 1.0, 0.5, 0.0]))
    >>> round(low, 3), round(high, 3)
    (0.299, 0.927)
    """
    if not outcomes.size:
        return None, None
    z, value = quantile(level), float(outcomes.mean())
    if clusters is None:
        return _wilson(value, z * z / outcomes.size)
    numbers = cluster_numbers(clusters, outcomes.size)
    spread, most = value * (1 - value), int(numbers.max()) + 1
    if most < 2:
        return None, None
    variance = variance_of((outcomes - value) / outcomes.size, numbers) or 0.0
    relative = variance * most / (most - 1) / spread if spread > 0 else 0.0
    share = 1 / (1 + 2 * most * spread)
    inverse = max(
        1 / outcomes.size,
        (student_quantile(level, effective_size(np.bincount(numbers)) - 1) / z) ** 2 * relative,
        share / most + (1 - share) * relative,
    )
    return _wilson(value, z * z * inverse)


def _wilson(value: float, excess: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of n rows, given the square of the quantile divided by n."""
    spread = value * (1 - value)
    center = (value + excess / 2) / (1 + excess)
    reach = math.sqrt(excess * (spread + excess / 4)) / (1 + excess)
    return min(max(center - reach, 0.0), value), max(min(center + reach, 1.0), value)


def student_quantile(level: float, degrees: int) -> float:
    """Return the half-width of a two-sided interval of Student's distribution.

    The relative error is below 0.00001 for levels between 0.5 and 0.999.

    References
    ----------
    Hill, Algorithm 396, Communications of the ACM 13 (1970).
    """
    tail = 1 - level
    if degrees == 1:
        return 1 / math.tan(tail * math.pi / 2)
    if degrees == 2:
        return math.sqrt(2 / (tail * (2 - tail)) - 2)
    a = 1 / (degrees - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * degrees
    y = (d * tail) ** (2 / degrees)
    if y > 0.05 + a:
        x = -quantile(level)
        y = x * x
        if degrees < 5:
            c += 0.3 * (degrees - 4.5) * (x + 0.6)
        c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
        y = math.expm1(a * y * y)
    else:
        y = (
            (
                1 / (((degrees + 6) / (degrees * y) - 0.089 * d - 0.822) * (degrees + 2) * 3)
                + 0.5 / (degrees + 4)
            )
            * y
            - 1
        ) * (degrees + 1) / (degrees + 2) + 1 / y
    return math.sqrt(degrees * y)


def two_sided_p_value(statistic: float, degrees: int | None = None) -> float:
    r"""Return the two-sided p-value of a normal statistic, or one with Student's distribution.

    Notes
    -----
    With :math:`t = \sqrt\nu \sinh y`, the density is proportional to :math:`\cosh^{-\nu} y`. The integral
    ends where the integrand is negligible.
    """
    if degrees is None:
        return math.erfc(abs(statistic) / math.sqrt(2))
    nodes, weights = _quadrature()

    def tail(start: float) -> float:
        end = math.acosh(math.cosh(start) * math.exp(40 / degrees))
        places = start + (end - start) * (1 + nodes) / 2
        heights = np.exp(-degrees / 2 * np.log1p(np.sinh(places) ** 2))
        return (end - start) * float(weights @ heights)

    return tail(math.asinh(abs(statistic) / math.sqrt(degrees))) / tail(0.0)


@cache
def _quadrature() -> tuple[FloatArray, FloatArray]:
    return np.polynomial.legendre.leggauss(64)


def is_checked_cell(
    cell: Cell, value: float, sizes: tuple[int, int], within: ValidatedRange = CHECKED_CELLS
) -> bool:
    """Return whether the coverage of an interval was validated for this value and size.

    For an AEG, the underlying AUC is considered, which is typically close to one half.
    """
    auc, lowest = (0.5 - value, 1 - within.highest) if cell in GAPS else (value, within.lowest)
    return min(sizes) >= within.rows and lowest <= auc <= within.highest


def compared_sizes(values: BiasReport, line: SubgroupReport) -> dict[Cell, tuple[int, int]]:
    """Return the sizes of the two compared sets for each cell of an identity."""
    n1, n0 = line.positives, line.size - line.positives
    return by_cell(n1, n0, values.positives - n1, values.rows - values.positives - n0)


def is_checked_term(values: BiasReport, name: Term, within: ValidatedRange) -> bool:
    """Return whether the coverage of the interval was validated for every AUC of a term or of the score."""
    if name == "score":
        terms: tuple[Term, ...] = ("overall_auc", *BIAS_AUCS)
        return all(is_checked_term(values, each, within) for each in terms)
    if name == "overall_auc":
        sizes = values.positives, values.rows - values.positives
        auc = values.overall_auc
        return auc is not None and is_checked_cell("subgroup_auc", auc, sizes, within)
    return all(
        is_checked_cell(name, value, compared_sizes(values, line)[name], within)
        for line in values.subgroups
        if line.in_score and (value := getattr(line, name)) is not None
    )


def _expit(value: float) -> float:
    if value >= 0:
        return 1 / (1 + math.exp(-min(value, 700.0)))
    small = math.exp(max(value, -700.0))
    return small / (1 + small)


@dataclass(frozen=True, slots=True)
class ByTerm(Generic[Found]):
    """Estimates or differences of the score, its terms and all cells.

    Attributes
    ----------
    level : float
        Confidence level of the intervals.
    score, overall_auc : Estimate or Difference
        Estimate or difference of the score and of the overall AUC.
    power_means : mapping of BiasAuc to Estimate or Difference
        Estimates or differences of the other three terms.
    cells : mapping of str to mapping of Cell to Estimate or Difference
        For each identity, the estimates or differences of its three AUCs and two AEGs.
    """

    level: float
    score: Found
    overall_auc: Found
    power_means: Mapping[BiasAuc, Found]
    cells: Mapping[str, Mapping[Cell, Found]]

    @property
    def terms(self) -> dict[str, Found]:
        """The score and its four terms by name."""
        return {"score": self.score, "overall_auc": self.overall_auc} | dict(self.power_means)

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


@dataclass(frozen=True, slots=True)
class UncertaintyReport(ByTerm[Estimate]):
    """A bias report (in `report`) with estimates of all its values.

    Examples
    --------
    >>> from fairboard import bias_intervals
    >>> found = bias_intervals([1, 1, 0, 0], [0.9, 0.4, 0.5, 0.1], {"cat": [1, 1, 1, 1]})
    >>> found.cells["cat"]["subgroup_auc"].value, found.report.overall_auc
    (0.75, 0.75)
    """

    report: BiasReport


def uncertainty_report(
    sets: Sets, y_score: ArrayLike, settings: MetricSettings | None = None, *, level: float = LEVEL
) -> UncertaintyReport:
    """Measure a submission on one split, with a confidence interval for every value.

    Parameters
    ----------
    sets : Sets
        The split, prepared once: ``Sets(prepare(labels, identities))``. With `Sets.clustered`, the intervals
        take into account that rows of the same author or template depend on each other.
    y_score : array_like, shape (rows,)
        One finite number per row.
    settings : MetricSettings, optional
        By default, the settings of the Kaggle competition.
    level : float
        The confidence level, in (0, 1).

    Returns
    -------
    UncertaintyReport
        Undefined metrics have no value. Metrics that compare a set with only one row have no interval.

    Raises
    ------
    ValueError
        If `y_score` or `level` is invalid.

    Notes
    -----
    The rows are treated as a sample from a larger population, and the model as fixed. The intervals
    therefore describe the variation between samples of rows, not between training runs.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson, Biometrics 44 (1988). The influences of the score are obtained by
    the delta method from the same components.
    """
    return uncertainty_of(sets, Measured.of(sets, y_score, settings), level=level)


def uncertainty_of(sets: Sets, measured: Measured, *, level: float = LEVEL) -> UncertaintyReport:
    """Return the `uncertainty_report` of a measured submission."""
    split, values, influences = sets.split, measured.report, measured.influences
    variances = influences.variances
    if sets.clusters is not None:
        variances = {
            name: {cell: variance_of(each, sets.clusters) for cell, each in cells.items()}
            for name, cells in cell_influences(split, measured.ranks, sets.units)
        }

    settings = measured.settings
    lowest, highest = CHECKED_POWERS
    is_within = lowest <= settings.power <= highest and sum(split.in_score) <= CHECKED_IDENTITIES
    biases: dict[Term, float] = {
        name: mean_bias(values, name, variance_of(influences.terms[name], sets.clusters), variances, settings)
        for name in BIAS_AUCS
    }
    biases["score"] = sum(settings.weights.as_dict()[name] * bias for name, bias in biases.items())

    def term(name: Term) -> Estimate:
        value = values.score if name == "score" else values.terms[name]
        variance = variance_of(influences.terms[name], sets.clusters)
        checked = is_checked_term(values, name, CHECKED_CELLS if name == "overall_auc" else CHECKED_MEANS)
        checked = checked and sets.clusters is None
        if name == "overall_auc":
            return _of_auc(name, value, variance, sets.overall_units, level, is_checked=checked)
        if value is None or variance is None:
            return replace(NOTHING, value=value)
        error = math.sqrt(variance)
        checked = (
            checked and is_within and value <= CHECKED_MEAN and abs(biases[name]) <= CHECKED_BIAS * error
        )
        # The center is at most halfway between the value and 0 or 1.
        center = min(max(value - biases[name], value / 2), (1 + value) / 2)
        low, high = logit_interval(center, error, level, sets.degrees(name))
        return Estimate(value, error, low, high, checked and low is not None)

    cells: dict[str, dict[Cell, Estimate]] = {}
    for line in values.subgroups:
        cells[line.name] = {}
        for cell, sizes in by_cell(*sets.units[line.name]).items():
            value, variance = getattr(line, cell), variances[line.name][cell]
            checked = sets.clusters is None and value is not None and is_checked_cell(cell, value, sizes)
            cells[line.name][cell] = _of_auc(cell, value, variance, sizes, level, is_checked=checked)
    means = {name: term(name) for name in BIAS_AUCS}
    return UncertaintyReport(level, term("score"), term("overall_auc"), means, cells, values)


def mean_bias(
    report: BiasReport,
    term: BiasAuc,
    variance: float | None,
    variances: Mapping[str, Mapping[Cell, float | None]],
    settings: MetricSettings,
) -> float:
    r"""Return the expected sampling error of a power mean, given its variance and those of the AUCs.

    It is 0 if the mean is undefined or the power infinite.

    Notes
    -----
    The second-order term of the Taylor series of the mean M of N AUCs :math:`m_i` with variances
    :math:`V_i` is

    .. math:: \frac{1 - p}{2} \left(\frac{SE^2}{M} - \sum_i \frac{g_i V_i}{m_i}\right), \quad
              g_i = \frac{1}{N} \left(\frac{M}{m_i}\right)^{1 - p}.
    """
    mean, slopes = getattr(report.power_means, term), mean_slopes(report, term, settings)
    if variance is None or not slopes or math.isinf(settings.power):
        return 0.0
    aucs = {line.name: getattr(line, term) for line in report.subgroups}
    curvature = sum(slope * (variances[name][term] or 0.0) / aucs[name] for name, slope in slopes.items())
    return float((1 - settings.power) / 2 * (variance / mean - curvature))


def _of_auc(
    name: Cell | Term,
    value: float | None,
    variance: float | None,
    sizes: tuple[int, int],
    level: float,
    *,
    is_checked: bool,
) -> Estimate:
    """Return the estimate of an AUC, or of an AEG, which is one half minus an AUC."""
    if value is None or variance is None:
        return replace(NOTHING, value=value)
    low, high = auc_interval(0.5 - value if name in GAPS else value, variance, sizes, level)
    if name in GAPS:
        low, high = 0.5 - high, 0.5 - low
    return Estimate(value, math.sqrt(variance), low, high, is_checked)

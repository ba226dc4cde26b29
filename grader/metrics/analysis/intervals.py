"""Confidence intervals for AUCs and scores, and a bootstrap that validates them."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.analysis.influence import Sets, influences
from grader.metrics.metric_settings import MetricSettings
from grader.metrics.pair_counting import count_pairs
from grader.metrics.prepared import FloatArray, PreparedSplit, as_vector
from grader.metrics.ranks import count_ranks, dense_ranks
from grader.metrics.reports import BiasReport, report
from grader.metrics.subgroups import BIAS_AUCS, BiasAuc, Cell, SubgroupReport

GAPS: tuple[Cell, ...] = ("positive_aeg", "negative_aeg")
LEVEL = 0.95
CHECKED_ROWS = 50
CHECKED_AUCS = (0.6, 0.95)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric with its standard error and confidence interval; undefined values are None.

    Attributes
    ----------
    value : float or None
        The metric on the observed rows.
    standard_error : float or None
        Standard error over samples with the same number of rows in each set. None if a compared set has
        fewer than 2 rows.
    low, high : float or None
        Bounds of the confidence interval. None if the standard error is None or 0, or the value is 0 or 1. A
        standard error of 0 means that the rows do not vary, for example because all compared rows are tied.
        The sampling error then cannot be estimated.
    is_checked : bool
        Whether the interval is in the range for which its coverage was validated: at least 50 rows in each
        compared set, and an AUC between 0.6 and 0.95. For an AEG, the underlying AUC must be between 0.05 and
        0.95. For a power mean, the condition applies to each of its values.
    """

    value: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    is_checked: bool

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


class Jsonable(Protocol):
    """An object that can be converted to JSON-ready data."""

    def as_dict(self) -> dict[str, Any]: ...


Found = TypeVar("Found", bound=Jsonable)
Rows = TypeVar("Rows")
NOTHING = Estimate(None, None, None, None, is_checked=False)


def quantile(level: float) -> float:
    """Return the half-width of a two-sided normal interval, in standard errors.

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
    r"""Return the confidence interval of a value in (0, 1), symmetric on the logit scale.

    Parameters
    ----------
    value : float
        An AUC, a power mean or a score.
    standard_error : float
        Its standard error, on the original scale.
    level : float
        The confidence level, in (0, 1).

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
    reach = quantile(level) * standard_error / (value * (1 - value))
    return _expit(center - reach), _expit(center + reach)


def estimate(value: float, variance: float | None, *, is_checked: bool, level: float = LEVEL) -> Estimate:
    """Create the estimate of an AUC, a power mean or a score."""
    if variance is None:
        return Estimate(value, None, None, None, is_checked=False)
    error = math.sqrt(variance)
    low, high = logit_interval(value, error, level)
    return Estimate(value, error, low, high, is_checked and low is not None)


def gap_estimate(auc: Estimate, gap: float) -> Estimate:
    """Create the estimate of an AEG, which is one half minus the AUC, from that of its AUC."""
    low = None if auc.high is None else 0.5 - auc.high
    high = None if auc.low is None else 0.5 - auc.low
    return Estimate(gap, auc.standard_error, low, high, auc.is_checked)


def is_checked_cell(cell: Cell, value: float, sizes: tuple[int, int]) -> bool:
    """Return whether the coverage of a cell's interval was validated for this value and size.

    For an AEG, the underlying AUC is considered, which is typically close to one half.
    """
    lowest, highest = CHECKED_AUCS
    auc, lowest = (0.5 - value, 1 - highest) if cell in GAPS else (value, lowest)
    return min(sizes) >= CHECKED_ROWS and lowest <= auc <= highest


def is_checked_overall(values: BiasReport) -> bool:
    """Return whether the coverage of the interval was validated for this overall AUC."""
    sizes = values.positives, values.rows - values.positives
    return values.overall_auc is not None and is_checked_cell("subgroup_auc", values.overall_auc, sizes)


def compared_sizes(values: BiasReport, line: SubgroupReport) -> dict[Cell, tuple[int, int]]:
    """Return the sizes of the two compared sets for each cell of an identity."""
    n1, n0 = line.positives, line.size - line.positives
    return by_cell(n1, n0, values.positives - n1, values.rows - values.positives - n0)


def by_cell(
    subgroup1: Rows, subgroup0: Rows, background1: Rows, background0: Rows
) -> dict[Cell, tuple[Rows, Rows]]:
    """Return the two compared sets of each cell, given positive (1) and negative (0) rows."""
    return {
        "subgroup_auc": (subgroup1, subgroup0),
        "bpsn_auc": (background1, subgroup0),
        "bnsp_auc": (subgroup1, background0),
        "positive_aeg": (background1, subgroup1),
        "negative_aeg": (background0, subgroup0),
    }


def is_checked_mean(values: BiasReport, term: BiasAuc) -> bool:
    """Return whether the coverage of the interval was validated for every AUC of a power mean."""
    return all(
        is_checked_cell(term, value, compared_sizes(values, line)[term])
        for line in values.subgroups
        if line.in_score and (value := getattr(line, term)) is not None
    )


def is_checked_score(values: BiasReport) -> bool:
    """Return whether the coverage of the interval was validated for every term of the score."""
    return is_checked_overall(values) and all(is_checked_mean(values, term) for term in BIAS_AUCS)


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
    """A bias report (in `report`) with estimates of all its values."""

    report: BiasReport


def uncertainty_report(
    sets: Sets, y_score: ArrayLike, settings: MetricSettings | None = None, *, level: float = LEVEL
) -> UncertaintyReport:
    """Measure a submission on one split, with a confidence interval for every value.

    Parameters
    ----------
    sets : Sets
        The split, prepared once: ``Sets(prepare(labels, identities))``.
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
    # In a dot product, the synchronization of BLAS threads would take too long.
    variance = None if influence is None else float(np.square(influence).sum())
    return estimate(value, variance, is_checked=is_checked, level=level)


def bootstrap(
    split: PreparedSplit,
    y_score: ArrayLike,
    settings: MetricSettings | None = None,
    *,
    repeats: int = 1000,
    seed: int = 0,
) -> list[BiasReport]:
    """Measure a submission on bootstrap samples, drawn with replacement within each class.

    Parameters
    ----------
    split : PreparedSplit
        The observed rows.
    y_score : array_like, shape (rows,)
        One finite number per row.
    settings : MetricSettings, optional
        By default, the settings of the Kaggle competition.
    repeats : int
        Number of bootstrap samples.
    seed : int
        Seed of the random generator, for reproducible samples.

    Returns
    -------
    list of BiasReport
        One report for each sample. A report has undefined values if an identity has no rows of a class in
        the sample.
    """
    predictions = as_vector("y_score", y_score, rows=split.rows)
    settings = settings or MetricSettings()
    dice = np.random.default_rng(seed)
    classes = np.flatnonzero(split.labels), np.flatnonzero(~split.labels)
    mentions = np.zeros((len(split.names), split.rows), np.bool_)
    for line, members in zip(mentions, split.members, strict=True):
        line[members] = True
    found = []
    for _ in range(repeats):
        drawn = np.concatenate([dice.choice(rows, rows.size) for rows in classes])
        again = PreparedSplit(
            labels=split.labels[drawn],
            names=split.names,
            in_score=split.in_score,
            members=tuple(np.flatnonzero(line[drawn]) for line in mentions),
        )
        found.append(report(count_pairs(again, predictions[drawn]), settings))
    return found


def percentile_interval(values: FloatArray, level: float = LEVEL) -> tuple[float, float]:
    """Return the percentile bootstrap interval with confidence level `level`."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)

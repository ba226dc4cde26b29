"""Confidence intervals of AUCs, scores and whole reports, with a bootstrap as a check."""

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


class Jsonable(Protocol):
    """A value that returns JSON-ready data."""

    def as_dict(self) -> dict[str, Any]: ...


Found = TypeVar("Found", bound=Jsonable)
Rows = TypeVar("Rows")
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
    return by_cell(n1, n0, values.positives - n1, values.rows - values.positives - n0)


def by_cell(
    subgroup1: Rows, subgroup0: Rows, background1: Rows, background0: Rows
) -> dict[Cell, tuple[Rows, Rows]]:
    """Return the two sets behind each cell, given positive (1) and negative (0) rows."""
    return {
        "subgroup_auc": (subgroup1, subgroup0),
        "bpsn_auc": (background1, subgroup0),
        "bnsp_auc": (subgroup1, background0),
        "positive_aeg": (background1, subgroup1),
        "negative_aeg": (background0, subgroup0),
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


@dataclass(frozen=True, slots=True)
class ByTerm(Generic[Found]):
    """An estimate or a difference of the score and of all values behind it.

    Attributes
    ----------
    level : float
        Of the intervals.
    score, overall_auc : Estimate or Difference
        Of the score and its first term.
    power_means : mapping of str to the same
        Of the three other terms.
    cells : mapping of str to mapping of Cell to the same
        For each identity, of its three AUCs and two AEGs.
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
    """A bias report, in `report`, and the estimates of all its values."""

    report: BiasReport


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


def bootstrap(
    split: PreparedSplit,
    y_score: ArrayLike,
    settings: MetricSettings | None = None,
    *,
    repeats: int = 1000,
    seed: int = 0,
) -> list[BiasReport]:
    """Measure a submission on rows drawn again, with replacement, within each class.

    Parameters
    ----------
    split : PreparedSplit
        The rows there are.
    y_score : array_like, shape (rows,)
        One finite number per row.
    settings : MetricSettings, optional
        By default those of the Kaggle competition.
    repeats : int
        How many draws.
    seed : int
        The same seed gives the same draws.

    Returns
    -------
    list of BiasReport
        One for each draw. A draw may leave an identity without rows of a class, and then has
        undefined values.
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
    """Return the interval between the two quantiles of bootstrapped values that leave `level` between."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)

"""The bias score: weighted mean of the overall AUC and the power means of the identity AUCs.

Power means use decimal arithmetic with at least 40 digits and are rounded once at the end, so that the same
values give the same bits on any machine and in any order.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    localcontext,
)

from grader.metrics.counts import Comparison
from grader.metrics.metric_settings import MetricSettings

# Everything is said here, so that no setting of the caller's context changes a bit.
EXACT = Context(
    prec=40,
    rounding=ROUND_HALF_EVEN,
    Emin=MIN_EMIN,
    Emax=MAX_EMAX,
    capitals=1,
    clamp=0,
    flags=[],
    traps=[InvalidOperation, DivisionByZero],
)

# Below this the power mean and the geometric mean are the same float64: their logarithms differ by
# p/2 times the variance of the logarithms of the values, which is below 1e6 for any float64.
GEOMETRIC_BELOW = 1e-30

# Up to this exponent two steps of Newton's method give 40 digits.
NEWTON_UP_TO = 64


def power_mean(values: Iterable[float], p: float) -> float:
    r"""Return the power mean (generalized mean, Hölder mean) of values.

    .. math:: M_p(m) = \left(\frac{1}{N} \sum_{s=1}^{N} m_s^p\right)^{1/p}

    with the limits: p = 0 is the geometric mean, p = inf the largest and p = -inf the smallest
    value. Nothing overflows or warns.

    Parameters
    ----------
    values : iterable of float
        N >= 1 finite values, not negative.
    p : float
        The exponent.

    Returns
    -------
    float
        The mean, rounded once. For ``p <= 0`` it is 0 as soon as one value is 0.

    Raises
    ------
    ValueError
        If there are no values, one is negative or not finite, or `p` is NaN.

    Notes
    -----
    The evaluation page of Jigsaw Unintended Bias in Toxicity Classification (Kaggle, 2019) uses
    p = -5, which lies close to the worst value.

    Examples
    --------
    >>> power_mean([0.5, 0.5], -5)
    0.5
    >>> power_mean([0.9, 0.0], -5)
    0.0
    >>> power_mean([1.0, 4.0], 0)
    2.0
    """
    numbers = [float(value) for value in values]
    if not numbers:
        raise ValueError("`values` must hold at least one value.")
    for number in numbers:
        if not (math.isfinite(number) and number >= 0):
            raise ValueError(f"`values` must be finite and not negative, but holds {number!r}.")
    if math.isnan(p):
        raise ValueError("`p` must not be NaN.")
    return float(exact_power_mean([Decimal(number) for number in numbers], float(p)))


def exact_power_mean(values: Sequence[Decimal], p: float) -> Decimal:
    """Return the power mean of one or more values, none negative, to 40 digits."""
    # Sorted, so that the order of the sum does not depend on the order of the identities.
    values = sorted(values)
    # With the leading value factored out every power lies in [0, 1], and none overflows.
    pivot = values[-1] if p > 0 else values[0]
    if pivot == 0 or math.isinf(p) or values[0] == values[-1]:
        return pivot
    with localcontext(_context(p)):
        ratios = [value / pivot for value in values]
        if abs(p) < GEOMETRIC_BELOW:
            return pivot * _mean([ratio.ln() for ratio in ratios]).exp()
        exponent = Decimal(p)
        return pivot * _root(_mean([ratio**exponent for ratio in ratios]), p)


def _root(value: Decimal, p: float) -> Decimal:
    """Return value to the power of 1/p, for a value in (0, 1]."""
    n = abs(p)
    if not n.is_integer() or n > NEWTON_UP_TO:
        return value ** (1 / Decimal(p))
    # Newton's method squares the error, from the 1e-16 of a float. A general power takes as long
    # as all the rest of a report.
    degree = int(n)
    root = Decimal(float(value) ** (1 / degree))
    for _ in range(2):
        root -= (root - value / root ** (degree - 1)) / degree
    return root if p > 0 else 1 / root


def _mean(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal(0)) / len(values)


def _context(p: float) -> Context:
    # A small exponent brings the powers close to 1 and costs as many digits as it has zeros.
    context = EXACT.copy()
    if GEOMETRIC_BELOW <= abs(p) < 1:
        context.prec += -math.floor(math.log10(abs(p)))
    return context


def unintended_bias_score(
    overall_auc: float,
    subgroup_aucs: Sequence[float],
    bpsn_aucs: Sequence[float],
    bnsp_aucs: Sequence[float],
    *,
    settings: MetricSettings | None = None,
) -> float:
    r"""Combine AUCs that are already known into the score.

    .. math:: score = w_0 AUC_{overall} + \sum_{a=1}^{3} w_a M_p(m_{s,a})

    Parameters
    ----------
    overall_auc : float
        ROC AUC on all rows.
    subgroup_aucs, bpsn_aucs, bnsp_aucs : sequence of float
        The AUCs of the identities.
    settings : MetricSettings, optional
        Power and weights.

    Returns
    -------
    float
        The score, rounded once. The sum is divided by the sum of the weights, so that a perfect
        model scores exactly 1 whatever the last bits of the weights are.

    Raises
    ------
    ValueError
        If a value is not in [0, 1], or there is none for a term.
    """
    settings = settings or MetricSettings()
    bias_aucs: dict[str, Sequence[float]] = {
        "subgroup_auc": subgroup_aucs,
        "bpsn_auc": bpsn_aucs,
        "bnsp_auc": bnsp_aucs,
    }
    for name, values in [("overall_auc", [overall_auc]), *bias_aucs.items()]:
        if not len(values) or not all(0 <= value <= 1 for value in values):
            raise ValueError(f"`{name}` must hold values between 0 and 1.")
    terms = {"overall_auc": Decimal(float(overall_auc))} | {
        name: exact_power_mean([Decimal(float(value)) for value in values], settings.power)
        for name, values in bias_aucs.items()
    }
    return float(_weighted_mean(terms, settings))


def exact_mean(comparisons: Sequence[Comparison], settings: MetricSettings) -> Decimal | None:
    """Return the power mean of the AUCs of several identities to 40 digits.

    An undefined AUC makes it None or is left out, as the settings say; without any it is None.
    """
    with localcontext(EXACT):
        aucs = [comparison.exact_auc for comparison in comparisons]
    defined = [auc for auc in aucs if auc is not None]
    if not defined or (settings.undefined == "error" and len(defined) < len(aucs)):
        return None
    return exact_power_mean(defined, settings.power)


def exact_score(terms: Mapping[str, Decimal | None], settings: MetricSettings) -> Decimal | None:
    """Return the weighted mean of the four terms to 40 digits.

    A term without weight does not matter; any other that is None makes the score None.
    """
    weights = settings.weights.as_dict()
    defined = {name: term for name, term in terms.items() if term is not None}
    if any(weights[name] for name in terms.keys() - defined.keys()):
        return None
    return _weighted_mean(defined, settings)


def _weighted_mean(terms: Mapping[str, Decimal], settings: MetricSettings) -> Decimal:
    # In the order of the settings, and by the exact sum of the weights: four equal terms give
    # exactly that score.
    weights = {name: Decimal(weight) for name, weight in settings.weights.as_dict().items() if name in terms}
    with localcontext(EXACT):
        total = sum((weight * terms[name] for name, weight in weights.items()), Decimal(0))
        return total / sum(weights.values())

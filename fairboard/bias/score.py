"""The bias score: weighted mean of the overall AUC and three power means of identity AUCs.

Power means use decimal arithmetic with at least 40 digits and are rounded once, at the end. The result is
therefore identical to the last bit on any machine and for any order of the values.
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

from fairboard.bias.metric_settings import MetricSettings

# Every field is set explicitly so that the caller's decimal context cannot change the result.
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

# Below this exponent, the power mean equals the geometric mean in float64: the logarithms of the two means
# differ by p/2 times the variance of the logarithms of the values, which is below 1e6 for any float64 values.
GEOMETRIC_BELOW = 1e-30

# Up to this exponent, two steps of Newton's method are accurate to 40 digits.
NEWTON_UP_TO = 64


def power_mean(values: Iterable[float], p: float) -> float:
    r"""Return the power mean (generalized mean, Hölder mean) of values.

    .. math:: M_p(m) = \left(\frac{1}{N} \sum_{s=1}^{N} m_s^p\right)^{1/p}

    The limits are the geometric mean for p = 0, the largest value for p = inf and the smallest value
    for p = -inf. The computation neither overflows nor emits warnings.

    Parameters
    ----------
    values : iterable of float
        N >= 1 finite, non-negative values.
    p : float
        The exponent.

    Returns
    -------
    float
        The mean, rounded once. It is 0 if ``p <= 0`` and any value is 0.

    Raises
    ------
    ValueError
        If there are no values, a value is negative or not finite, or `p` is NaN.

    Notes
    -----
    The evaluation page of Jigsaw Unintended Bias in Toxicity Classification (Kaggle, 2019) uses
    p = -5, for which the mean is close to the smallest value.

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
        raise ValueError("`values` must contain at least one value.")
    for number in numbers:
        if not (math.isfinite(number) and number >= 0):
            raise ValueError(f"`values` must be finite and not negative, but contains {number!r}.")
    if math.isnan(p):
        raise ValueError("`p` must not be NaN.")
    return float(exact_power_mean([Decimal(number) for number in numbers], float(p)))


def exact_power_mean(values: Sequence[Decimal], p: float) -> Decimal:
    """Return the power mean of one or more non-negative values to 40 digits."""
    # Sorting makes the sum independent of the order of the identities.
    values = sorted(values)
    # Factoring out the leading value keeps every power in [0, 1] and prevents overflow.
    pivot = values[-1] if p > 0 else values[0]
    if pivot == 0 or math.isinf(p) or values[0] == values[-1]:
        return pivot
    with localcontext(_context(p)):
        ratios = [value / pivot for value in values]
        if abs(p) < GEOMETRIC_BELOW:
            # One logarithm of the product takes less time than the logarithms of all ratios.
            return pivot * (math.prod(ratios, start=Decimal(1)).ln() / len(ratios)).exp()
        exponent = Decimal(p)
        return pivot * _root(_mean([ratio**exponent for ratio in ratios]), p)


def _root(value: Decimal, p: float) -> Decimal:
    """Return a value in (0, 1] raised to the power 1/p."""
    n = abs(p)
    if not n.is_integer() or n > NEWTON_UP_TO:
        return value ** (1 / Decimal(p))
    # Newton's method squares the error of the float64 estimate, about 1e-16, at each step. A general
    # decimal power would take as long as the rest of the report.
    degree = int(n)
    root = Decimal(float(value) ** (1 / degree))
    for _ in range(2):
        root -= (root - value / root ** (degree - 1)) / degree
    return root if p > 0 else 1 / root


def _mean(values: Sequence[Decimal]) -> Decimal:
    return sum(values, Decimal(0)) / len(values)


def _context(p: float) -> Context:
    # A small exponent brings the powers close to 1, which loses one digit per leading zero of p.
    context = EXACT.copy()
    if GEOMETRIC_BELOW <= abs(p) < 1:
        context.prec += -math.floor(math.log10(abs(p)))
    return context


def exact_mean(aucs: Sequence[Decimal | None], settings: MetricSettings) -> Decimal | None:
    """Return the power mean of the AUCs of several identities to 40 digits.

    Depending on the settings, an undefined AUC either makes the mean undefined or is skipped. The result
    is None if the mean is undefined or no AUC is defined.
    """
    defined = [auc for auc in aucs if auc is not None]
    if not defined or (settings.undefined == "error" and len(defined) < len(aucs)):
        return None
    return exact_power_mean(defined, settings.power)


def exact_score(terms: Mapping[str, Decimal | None], settings: MetricSettings) -> Decimal | None:
    """Return the weighted mean of the four terms to 40 digits.

    The score is None if a term with a nonzero weight is None.
    """
    weights = settings.weights.as_dict()
    defined = {name: term for name, term in terms.items() if term is not None}
    if any(weights[name] for name in terms.keys() - defined.keys()):
        return None
    # Dividing by the exact sum of the weights makes the score of four equal terms exactly equal to the terms.
    # The terms are added in the order of the settings, so that the result is reproducible.
    exact = {name: Decimal(weight) for name, weight in weights.items() if name in defined}
    with localcontext(EXACT):
        total = sum((weight * defined[name] for name, weight in exact.items()), Decimal(0))
        return total / sum(exact.values())


def means_and_score(
    overall: Decimal | None, aucs: Mapping[str, Sequence[Decimal | None]], settings: MetricSettings
) -> tuple[dict[str, float | None], float | None]:
    """Return the power means of the AUCs of the identities by name, and the score, each rounded once."""
    means = {name: exact_mean(values, settings) for name, values in aucs.items()}
    score = exact_score({"overall_auc": overall, **means}, settings)
    rounded = {name: None if mean is None else float(mean) for name, mean in means.items()}
    return rounded, None if score is None else float(score)

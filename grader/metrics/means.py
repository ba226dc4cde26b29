"""Power mean, exact to the last bit of a float64.

The arithmetic is decimal with at least 40 digits and is rounded once at the end, so that the same
values give the same bits on any machine and in any order.
"""

import math
from collections.abc import Iterable, Sequence
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

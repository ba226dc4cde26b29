"""Exact sums of numbers per row, their standard errors and paired differences.

A score is a function of means of row statistics, for example the square root of the mean squared error. The
sums are exact, so the score does not depend on the order of the rows. The standard error follows from the
delta method: the variance of a function of means is that of the mean influence of a row, which is the
gradient of the function times the row's deviations from the means.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from grader.metrics.interface import FloatArray, PairedDifference, RowInfluences

# A complex step of this size has no rounding error: the imaginary part is exact to the last digits.
_STEP = 1e-30
_SIGNIFICANT_BITS = 53
_BLOCK = 8192
_FIRST_LEVELS = 2
_LARGEST_EXPONENT = 1000

Combine = Callable[[Sequence[complex]], complex]


def exact_sum(values: FloatArray) -> float:
    r"""Return the correctly rounded sum, which does not depend on the order.

    Parameters
    ----------
    values : ndarray of float64
        At most :math:`2^{26}` finite numbers, of at most :math:`2^{990}`.

    Returns
    -------
    float
        The sum, rounded once.

    Notes
    -----
    Each level takes the leading bits of all numbers: :math:`h = (x + C) - C` is a multiple of the unit in the
    last place of :math:`C`, which is so large that no sum of the :math:`h` is rounded. The rest
    :math:`x - h` is exact and goes to the next level. The sums of all levels are added by `math.fsum`. Blocks
    of rows stay in the processor's cache.

    References
    ----------
    J. Demmel and H. D. Nguyen, Fast reproducible floating-point summation, ARITH 21 (2013).

    Examples
    --------
    >>> exact_sum(np.array([1e100, 1.0, -1e100]))
    1.0
    """
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not largest:
        return 0.0
    leaders = _leaders(largest, min(values.size, _BLOCK))
    # Two levels nearly always suffice: the rest is too small to change the rounding.
    sums = _sums(values, leaders[:_FIRST_LEVELS])
    left = values.size * math.ulp(leaders[_FIRST_LEVELS - 1]) if len(leaders) >= _FIRST_LEVELS else math.inf
    if (total := math.fsum([*sums, left])) == math.fsum([*sums, -left]):
        return total
    return math.fsum(_sums(values, leaders))


def _sums(values: FloatArray, leaders: Sequence[float]) -> list[float]:
    """Return the exact sums of all levels and blocks, and of the rest if it is added without rounding."""
    block = min(values.size, _BLOCK)
    sums, high, kept, ones = list[float](), np.empty(block), np.empty(block), np.ones(block)
    for start in range(0, values.size, block):
        rest = values[start : start + block]
        part, next_rest, one = high[: rest.size], kept[: rest.size], ones[: rest.size]
        for level, leader in enumerate(leaders, 1):
            np.add(rest, leader, out=part)
            np.subtract(part, leader, out=part)
            # Nothing is rounded, so the order does not matter, and `dot` is faster than `sum`.
            sums.append(float(np.dot(part, one)))
            if level == _FIRST_LEVELS == len(leaders):
                break
            rest = np.subtract(rest, part, out=next_rest)
            if level > 1 and not np.bitwise_or.reduce(rest.view(np.int64)):
                break
        else:  # multiples of the smallest number, whose sums are not rounded
            sums.append(float(np.dot(rest, one)))
    return sums


def _leaders(largest: float, count: int) -> list[float]:
    """Return the constant of each level, until the rest can be added without rounding."""
    leaders, count_bits = list[float](), count.bit_length()
    exponent = math.frexp(largest)[1] + count_bits
    while exponent >= _SIGNIFICANT_BITS - 1073:
        leaders.append(math.ldexp(1.5, exponent))
        exponent += count_bits - _SIGNIFICANT_BITS + 1
    return leaders


def exact_mean(values: FloatArray) -> float:
    """Return the exact sum divided by the number of values."""
    return exact_sum(values) / values.size


def combined(combine: Combine, means: Sequence[float]) -> tuple[float, list[float]]:
    """Return the value of a differentiable function and its gradient, by a complex step for each argument.

    References
    ----------
    W. Squire and G. Trapp, Using complex variables to estimate derivatives of real functions, SIAM Review 40
    (1998).
    """
    gradient = []
    for place in range(len(means)):
        shifted = [complex(mean, _STEP if at == place else 0.0) for at, mean in enumerate(means)]
        gradient.append(complex(combine(shifted)).imag / _STEP)
    return float(complex(combine([complex(mean) for mean in means])).real), gradient


def influences_of(
    statistics: Sequence[FloatArray], means: Sequence[float], gradient: Sequence[float]
) -> FloatArray:
    """Return the influence of each row on a function of the means.

    The operations are elementwise in a fixed order, so that a row's influence does not depend on its place.
    """
    influences: FloatArray | None = None
    for statistic, mean, slope in zip(statistics, means, gradient, strict=True):
        part = statistic - mean
        part *= slope
        influences = part if influences is None else np.add(influences, part, out=influences)
    return np.empty(0) if influences is None else influences


def standard_error(influences: FloatArray) -> float:
    r"""Return the standard error of a mean influence, :math:`\sqrt{\sum u_i^2 / (n(n-1))}`; 0 for one row.

    The influences are rounded to integers whose squares add up to less than :math:`2^{53}`, so that the sum
    does not depend on the order. The largest one has at least 13 bits, and the root mean square is at least
    that divided by :math:`\sqrt n`, so the rounding is negligible.
    """
    rows = influences.size
    largest = max(float(influences.max(initial=0.0)), -float(influences.min(initial=0.0)))
    if rows < 2 or not largest:
        return 0.0
    exponent = min((_SIGNIFICANT_BITS - rows.bit_length()) // 2 - math.frexp(largest)[1], _LARGEST_EXPONENT)
    rounded = influences * math.ldexp(1.0, exponent)
    np.rint(rounded, out=rounded)
    total = float(np.dot(rounded, rounded))
    return math.ldexp(math.sqrt(total / (rows * (rows - 1))), -exponent)


def paired_difference(one: RowInfluences, other: RowInfluences) -> PairedDifference:
    """Return the difference between two scores on the same rows, with its standard error.

    Both submissions are scored on the same rows, so their errors are correlated, and the standard error is
    that of the differences between the influences of each row.
    """
    return PairedDifference(one.score - other.score, standard_error(one.rows - other.rows))

"""Exact sums of numbers per row, their standard errors and paired differences.

A score is a function of means of row statistics, for example the square root of the mean squared error. The
sums are exact, so the score does not depend on the order of the rows. The standard error follows from the
delta method: the variance of a function of means is that of the mean influence of a row, which is the
gradient of the function times the row's deviations from the means.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from grader.metrics.interface import FloatArray, Influences, PairedDifference

# A complex step of this size has no rounding error: the imaginary part is exact to the last digits.
_STEP = 1e-30
_SIGNIFICANT_BITS = 53
# For standard errors, two parts of the sum are enough: what is left is 2^-68 of the largest number.
ENOUGH_PARTS = 2

Combine = Callable[[Sequence[complex]], complex]


def exact_sum(values: FloatArray, *, parts: int | None = None) -> float:
    r"""Return the correctly rounded sum, which does not depend on the order.

    Parameters
    ----------
    values : ndarray of float64
        At most :math:`2^{26}` finite numbers, of at most :math:`2^{990}`.
    parts : int, optional
        Stop after this many parts. The result is then still independent of the order, but not exact.

    Returns
    -------
    float
        The sum, rounded once.

    Notes
    -----
    Each pass takes the leading bits of all numbers: :math:`h = (x + C) - C` is a multiple of the unit in the
    last place of :math:`C`, which is so large that no sum of the :math:`h` is rounded. The rest
    :math:`x - h` is exact and goes through the next pass. The sums of all passes are added by `math.fsum`.

    References
    ----------
    J. Demmel and H. D. Nguyen, Fast reproducible floating-point summation, ARITH 21 (2013).

    Examples
    --------
    >>> exact_sum(np.array([1e100, 1.0, -1e100]))
    1.0
    """
    rest, sums = values, list[float]()
    count_bits = int(values.size).bit_length()
    while True:
        largest = max(float(rest.max(initial=0.0)), -float(rest.min(initial=0.0)))
        if not largest or len(sums) == parts:
            return math.fsum(sums)
        exponent = math.frexp(largest)[1] + count_bits
        if (
            exponent < _SIGNIFICANT_BITS - 1073
        ):  # all numbers are multiples of the smallest one: no sum is rounded
            return math.fsum([*sums, float(rest.sum())])
        leader = math.ldexp(1.5, exponent)
        high = rest + leader
        high -= leader
        sums.append(float(high.sum()))
        rest = rest - high


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
    influences = np.zeros_like(statistics[0])
    for statistic, mean, slope in zip(statistics, means, gradient, strict=True):
        influences += slope * (statistic - mean)
    return influences


def standard_error(influences: FloatArray) -> float:
    r"""Return the standard error of a mean influence: :math:`\sqrt{\sum u_i^2 / (n(n-1))}`; 0 for one."""
    rows = influences.size
    if rows < 2:
        return 0.0
    return math.sqrt(exact_sum(influences * influences, parts=ENOUGH_PARTS) / (rows * (rows - 1)))


def paired_difference(one: Influences, other: Influences) -> PairedDifference:
    """Return the difference between two scores on the same rows, with its standard error.

    Both submissions are scored on the same rows, so their errors are correlated, and the standard error is
    that of the differences between the influences of each row.
    """
    return PairedDifference(one.score - other.score, standard_error(one.rows - other.rows))

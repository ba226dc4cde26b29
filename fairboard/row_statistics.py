"""Exact sums of per-row statistics.

A score is a function of means of row statistics, for example the square root of the mean squared error. The
sums are exact, so the score does not depend on the order of the rows.
"""

import math
from collections.abc import Sequence

import numpy as np

from fairboard.interface import FloatArray

_SIGNIFICANT_BITS = 53
_BLOCK = 8192
_FIRST_LEVELS = 2
_NEGLIGIBLE = 2.0**-44


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


def deviations(values: FloatArray) -> FloatArray:
    """Return the deviations from the exact mean.

    If the mean is so far above the spread that its rounding matters, the rounding errors of the mean and of
    the differences are subtracted, too.

    Examples
    --------
    >>> deviations(np.array([1e15, 1e15 + 1, 1e15 + 3])).round(3).tolist()
    [-1.333, -0.333, 1.667]
    """
    mean = exact_sum(values) / values.size
    rest = values - mean
    shift = exact_sum(rest) / values.size
    if abs(shift) <= _NEGLIGIBLE * float(np.abs(rest).max(initial=0.0)):
        return rest
    back = rest - values
    errors = (values - (rest - back)) - (mean + back)
    return np.asarray(rest - (shift + exact_sum(errors) / values.size) + errors)

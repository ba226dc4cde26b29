"""Exact sums of per-row statistics.

A score is a function of means of row statistics, for example the square root of the mean squared error. The
sums are exact, so the score does not depend on the order of the rows.
"""

import math
from collections.abc import Iterator

import numpy as np

from fairboard.interface import FloatArray

_BLOCK = 2**15
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
    blocks = (values[start : start + _BLOCK] for start in range(0, values.size, _BLOCK))
    return math.fsum(level for block in blocks for level in _levels(block))


def _levels(rest: FloatArray) -> Iterator[float]:
    """Yield the exact sum of each level of a block, until the rest is 0."""
    count_bits = rest.size.bit_length()
    while largest := max(float(rest.max()), -float(rest.min())):
        leader = math.ldexp(1.5, math.frexp(largest)[1] + count_bits)
        high = rest + leader
        high -= leader
        yield float(high.sum())
        rest = rest - high


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

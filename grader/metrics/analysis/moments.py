"""Mean and standard deviation without overflow."""

import numpy as np

from grader.metrics.prepared import FloatArray


def mean(values: FloatArray) -> float | None:
    """Return the mean; None without values. The last bit may depend on their order."""
    if not values.size:
        return None
    largest = power_of_two_near(values)
    return float((values / largest).mean()) * largest


def deviation(values: FloatArray) -> float | None:
    """Return the standard deviation of a sample (n - 1 in the denominator); None below two values."""
    if values.size < 2:
        return None
    if values.min() == values.max():
        return 0.0
    largest = power_of_two_near(values)
    return float((values / largest).std(ddof=1)) * largest


def power_of_two_near(values: FloatArray) -> float:
    """Return a power of two near the largest absolute value: to divide by it loses nothing."""
    _, exponent = np.frexp(np.abs(values).max())
    return float(2.0 ** min(max(int(exponent), -1000), 1000))

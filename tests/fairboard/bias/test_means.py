"""Power means: agreement with scipy, and edge cases where naive code overflows or warns."""

import math
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pmean

from fairboard import power_mean

positive_values = st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=30)


@given(positive_values, st.floats(-50, 50))
def test_means_agree_with_scipy(values, p):
    p = 0.0 if abs(p) < 1e-3 else p  # SciPy loses digits for powers near 0.
    assert power_mean(values, p) == pytest.approx(pmean(values, p), rel=1e-11)


@given(positive_values, st.sampled_from([-math.inf, -5, -1, 0, 0.5, 1, 3, math.inf]))
def test_mean_lies_between_the_extremes_in_any_order(values, p):
    mean = power_mean(values, p)
    assert min(values) <= mean <= max(values)
    assert power_mean(values[::-1], p) == mean


@pytest.mark.parametrize("p", [-math.inf, -1e300, -5, -1e-20, 0, 1e-300, 0.3, 5, 1e300, math.inf])
@pytest.mark.parametrize("value", [5e-324, 1e-70, 0.1, 0.5, 1.0, 1.7e308])
def test_mean_of_equal_values_is_exact(value, p):
    assert power_mean([value] * 7, p) == value


def test_zeros_and_tiny_values_neither_overflow_nor_warn():
    for p, mean in ((-math.inf, 0), (-5, 0), (0, 0), (1, 0.3), (math.inf, 0.6), (1e-300, 0)):
        assert power_mean([0.0, 0.6], p) == mean
    assert power_mean([1e-70, 1.0], -5) == pytest.approx(2**0.2 * 1e-70, rel=1e-15)
    assert power_mean([5e-324, 1.0], -1e9) == 5e-324


@pytest.mark.parametrize("values", [[0.11, 0.97, 0.63], [1e-12, 0.5, 1.0], [0.5, 0.5000001, 0.7]])
@pytest.mark.parametrize("p", [1e-3, -1e-8, 1e-15, 3e-29, -1e-29, 1, 2, -5, -5.5, 31, -64, 64, 65, -200])
def test_every_power_keeps_all_digits(p, values):
    with localcontext(prec=200):
        powers = [Decimal(value) ** Decimal(p) for value in values]
        expected = float((sum(powers) / 3) ** (1 / Decimal(p)))
    assert power_mean(values, p) == expected


@pytest.mark.parametrize("values", [[], [-0.1], [math.nan], [0.5, math.inf]])
def test_invalid_values_are_rejected(values):
    with pytest.raises(ValueError, match="`values`"):
        power_mean(values, -5)
    with pytest.raises(ValueError, match="`p`"):
        power_mean([0.5], math.nan)

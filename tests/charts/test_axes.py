"""Axes: positions of values and tick marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.charts.svg import Axis, robust_floor


def test_position_on_an_axis_is_proportional_to_the_value():
    axis = Axis("x", -1, 3)
    assert [axis.place(value, 10, 50) for value in (-1, 0, 3)] == [10, 20, 50]
    assert axis.place(1, 50, 10) == 30
    logarithmic = Axis("x", 1, 100, is_logarithmic=True)
    assert [logarithmic.place(value, 10, 50) for value in (0, 1, 100)] == [10, 10, 50]
    assert logarithmic.place(10, 10, 50) == pytest.approx(30)
    assert Axis("x", -1.7e308, 1.7e308).place(0, 0, 10) == 5
    assert Axis("x", 0.5, 2000, is_logarithmic=True).ticks() == [1, 10, 100, 1000]
    assert Axis("x", 0, 1).ticks() == [0, 0.25, 0.5, 0.75, 1]


@given(st.lists(st.integers(0, 1000), min_size=1))
def test_robust_floor_is_between_the_lowest_value_and_the_median(values):
    floor = robust_floor(values, least=1)
    assert min(values) <= floor <= sorted(values)[(len(values) - 1) // 2]
    assert len(values) > 3 or floor == min(values)

"""Axes: positions of values and tick marks."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.charts.svg import TIME_MARKS, TIME_STEPS, Axis, robust_floor, time_marks

starts = st.integers(0, 20 * 365 * 86400).map(
    lambda seconds: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(0, seconds)
)
lengths = st.integers(60, 6 * 365 * 86400).map(lambda seconds: timedelta(seconds=seconds))


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
    assert axis.ticks() == [-1, 0, 1, 2, 3]
    around = Axis.around("y", [2, 4, 3])
    assert (around.name, around.low, around.high) == ("y", 1.9, 4.1)
    same = Axis.around("y", [2])
    assert (same.low, same.high) == (1.95, 2.05)
    nothing = Axis.around("y", [])
    assert (nothing.low, nothing.high) == (-0.05, 1.05)


def test_tick_labels_are_short_unless_the_axis_defines_a_format():
    texts = [text for _, text in Axis("x", 0, 2000).marks()]
    assert texts == ["0", "500", "1,000", "1,500", "2,000"]
    halves = Axis("x", 0, 1, write=lambda value: f"{value:.2f}").marks()
    assert [text for _, text in halves] == ["0.00", "0.25", "0.50", "0.75", "1.00"]


@given(starts, lengths)
def test_time_ticks_are_round_and_equally_spaced(start: datetime, length: timedelta):
    moments = [at for at, _ in time_marks(start, start + length)]
    assert len(moments) <= TIME_MARKS + 1
    assert all(start <= at <= start + length for at in moments)
    assert {later - at for at, later in pairwise(moments)} <= set(TIME_STEPS)


def test_time_tick_shows_the_time_or_at_midnight_the_day():
    evening = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    texts = [text for _, text in time_marks(evening, evening + timedelta(hours=1))]
    assert texts == ["23:30", "23:45", "2 Mar", "00:15", "00:30"]
    days = [text for _, text in time_marks(evening, evening + timedelta(days=10))]
    assert days == ["3 Mar", "5 Mar", "7 Mar", "9 Mar", "11 Mar"]


@given(st.lists(st.integers(0, 1000), min_size=1))
def test_robust_floor_is_between_the_lowest_value_and_the_median(values: list[int]):
    floor = robust_floor(values, least=1)
    assert min(values) <= floor <= sorted(values)[(len(values) - 1) // 2]
    assert len(values) > 3 or floor == min(values)

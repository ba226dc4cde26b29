"""Dumbbell charts: a ring at the old value, a dot at the new value."""

import re
import xml.etree.ElementTree as ET

import pytest

from grader.charts.pictures import WIDTH, dumbbell, scale, shared_axis


@pytest.mark.parametrize(
    ("before", "after", "css"), [(0.8, 0.9, "rose"), (0.9, 0.8, "fell"), (0.8, 0.8, "same")]
)
def test_dumbbell_class_shows_whether_a_value_rose(before: float, after: float, css: str):
    axis = shared_axis([0.7, 0.95])
    drawn = dumbbell(before, after, axis)
    ET.fromstring(drawn)
    assert f'class="dumbbell {css}"' in drawn
    was, now = (float(each) for each in re.findall(r'cx="([\d.]+)"', drawn))
    assert (now > was, now < was) == (after > before, after < before)
    assert 0 < was < WIDTH


def test_equal_values_have_a_valid_axis():
    axis = shared_axis([0.5, 0.5])
    assert axis.high - axis.low == pytest.approx(0.01)
    assert "0.5" in scale(axis)

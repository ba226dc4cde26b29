"""Charts of a team's files: dots within the chart area, and the best score so far."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.charts.pictures import cell_picture
from grader.charts.trend import AREA, MOST_DOTS, trend_chart

scores = st.lists(st.integers(0, 100_000), min_size=1, max_size=40)


def places(text: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+)[ ,](-?[\d.]+)", text)]


@given(scores, st.none() | st.integers(0, 100_000))
def test_every_dot_and_the_best_line_are_inside_the_chart(units: list[int], leader: int | None):
    chart = trend_chart(units, leader=leader)
    assert chart is not None
    ElementTree.fromstring(chart.svg)
    dots = places("".join(re.findall(r'class="dots" d="([^"]*)"', chart.svg)))
    below = places("".join(re.findall(r'class="dots below" d="([^"]*)"', chart.svg)))
    line = places(re.findall(r'class="best-line" points="([^"]*)"', chart.svg)[0])
    assert len(dots) + len(below) == len(units)
    assert all(y > AREA.bottom for _, y in below) and bool(below) is (chart.floor is not None)
    for x, y in dots + line:
        assert AREA.left <= x <= AREA.right and AREA.top - 0.1 <= y <= AREA.bottom + 0.1
    assert all(a <= c and b >= d for (a, b), (c, d) in pairwise(line))
    assert min(y for _, y in dots) == line[-1][1]
    assert chart.floor is None or float(chart.floor) > min(units) / 100_000
    assert ("leader" in chart.svg) is (leader is not None)


def test_dots_are_drawn_at_their_values_and_far_lower_ones_below_the_axis():
    units = [91_194, 92_370, 92_370, 92_300]
    chart = trend_chart(units, leader=92_370)
    assert chart is not None and chart.floor is None and "dots below" not in chart.svg
    dots = places(re.findall(r'class="dots" d="([^"]*)"', chart.svg)[0])
    scale = (dots[0][1] - dots[1][1]) / (units[1] - units[0])
    heights = [dots[1][1] + scale * (units[1] - each) for each in units]
    assert [y for _, y in dots] == pytest.approx(heights, abs=0.2)
    chart = trend_chart([50_000, *units])
    assert chart is not None and (chart.floor, chart.svg.count('class="dots below"')) == ("0.88370", 1)


def test_no_files_have_no_chart_and_only_the_newest_of_many_are_shown():
    assert trend_chart([]) is None
    chart = trend_chart([99_000, *range(2 * MOST_DOTS)])
    assert chart is not None
    assert chart.svg.count("h0") == MOST_DOTS
    assert "best-dot" not in chart.svg, "the best file is not among those drawn"
    assert len(chart.svg) < 40_000


def test_cells_of_equal_shade_share_a_path_and_names_are_escaped():
    svg = cell_picture([["h0", "h3", "h10"], ["h3", "undefined", "h10"]], 'Weakest: "<b>", BPSN 0.31')
    tree = ElementTree.fromstring(svg)
    shades = {path.get("class"): path.get("d", "").count("M") for path in tree if path.get("class")}
    assert shades == {"h0": 1, "h3": 2, "h10": 2, "undefined": 1}
    assert (tree.get("width"), tree.get("height")) == ("16", "24")

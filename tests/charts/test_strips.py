"""Strip charts: marks within the chart area, and highlighting of the viewer's team."""

import re
from datetime import date, timedelta
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from grader.charts.strips import BEST, CHANGES, DAYS_FOOT, best_line, change_strip, day_bars, strip_chart

FIRST = date(2026, 10, 24)
FILES = st.lists(st.tuples(st.integers(0, 9_000), st.integers(0, 9_000)), min_size=1, max_size=30)
SCORES = st.dictionaries(st.integers(0, 100_000), st.integers(1, 300), max_size=60)


@given(SCORES, st.data())
def test_every_team_is_inside_the_chart(scores: dict[int, int], data: st.DataObject):
    own = data.draw(st.none() | st.sampled_from(sorted(scores))) if scores else None
    chart = strip_chart(scores, own=own)
    if chart is None:
        assert not scores
        return
    svg = ElementTree.fromstring(chart.svg)
    places = [
        float(each.get("cx", each.get("x", "")).removesuffix("%")) for each in svg if each.tag != "line"
    ]
    assert all(BEST.left <= place <= BEST.right for place in places)
    bars = svg.findall("rect")
    assert all(0 < float(bar.get("y", "")) <= BEST.foot for bar in bars)
    assert len(svg.findall("*[@class='own']")) == (0 if own is None else 3)
    assert bool(scores) <= len(bars) <= BEST.count + (chart.below > 0)


def test_chart_of_many_teams_is_short():
    chart = strip_chart({80_000 + place: 1 for place in range(10_000)})
    assert chart is not None and len(chart.svg) < 6_000


def test_few_low_scores_do_not_compress_the_others():
    scores = {50_000: 2} | {93_000 + 100 * place: 1 for place in range(15)}
    chart = strip_chart(scores, own=93_000)
    assert chart is not None
    assert (chart.below, chart.floor) == (2, "0.93000")
    assert "Best scores of 17 teams, from 0.50000 to 0.94400; yours is 0.93000" in chart.svg
    places = [float(each) for each in re.findall(r'class="bar" x="([\d.]+)%', chart.svg)]
    assert max(places) - min(places) > 40
    lower = [float(each) for each in re.findall(r'class="bar lower" x="([\d.]+)%', chart.svg)]
    assert lower == [BEST.left] and min(places) > BEST.left + 3, "the bar is apart from the axis"
    many = strip_chart({50_000: 200} | {93_000 + place: 1 for place in range(1_400)})
    assert many is not None and many.svg.count('class="bar lower"') == 1


@given(st.lists(st.integers(-100_000, 100_000), max_size=300))
def test_every_change_is_inside_the_chart_on_its_side(units: list[int]):
    svg = change_strip(units)
    if svg is None:
        assert not units
        return
    for bar in ElementTree.fromstring(svg).findall("rect"):
        left, width = (float(bar.get(name, "").removesuffix("%")) for name in ("x", "width"))
        middle = left + width / 2
        assert 0 <= middle <= 100 and 0 < float(bar.get("y", "")) < CHANGES.foot
        side = {"rose": middle > 50, "fell": middle < 50, "stayed": abs(middle - 50) < 0.1}
        assert side[bar.get("class", "")]


def test_range_of_changes_is_described_and_the_chart_of_many_is_short():
    few, many = change_strip([-1200, 0, 300]), change_strip([place % 700 - 350 for place in range(10_000)])
    assert few is not None and many is not None
    assert few.count("<rect") == 3 and ">-0.01200<" in few and ">+0.01200<" in few
    assert "Score changes from -0.01200 to +0.00300: 1 lower, 1 higher" in few
    assert len(many) < 8_000


@given(FILES)
def test_each_day_with_files_has_its_bars_inside_the_chart(files: list[tuple[int, int]]):
    shown = [(FIRST + timedelta(place), good, bad) for place, (good, bad) in enumerate(files)]
    svg = ElementTree.fromstring(day_bars(shown))
    bars = svg.findall("g/rect")
    assert len(bars) == sum((good > 0) + (bad > 0) for good, bad in files)
    assert all(0 <= float(bar.get("y", "")) <= DAYS_FOOT for bar in bars)
    sent = sum(good + bad for good, bad in files)
    assert f"{sent:,} uploaded" in svg.get("aria-label", "")


def test_best_score_line_rises_and_ends_at_the_right_edge():
    assert best_line([], until=FIRST) is None
    svg = best_line([(FIRST, 90_000), (FIRST + timedelta(3), 91_000)], until=FIRST + timedelta(10))
    assert svg is not None and ">0.90000<" in svg and ">0.91000<" in svg
    heights = [float(y) for y in re.findall(r'class="step" [^>]*y2="([^"]*)"', svg)]
    assert heights == sorted(heights, reverse=True)
    assert svg.count('x2="100.00%"') == 2

"""The charts of days: each day's files lie inside the picture, and the best score never falls."""

import re
from datetime import date, timedelta
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from grader.charts import strips
from grader.charts.strips import best_line, day_bars

FIRST = date(2026, 10, 24)
FILES = st.lists(st.tuples(st.integers(0, 9_000), st.integers(0, 9_000)), min_size=1, max_size=30)


@given(FILES)
def test_each_day_with_files_has_its_bars_inside_the_picture(files: list[tuple[int, int]]):
    shown = [(FIRST + timedelta(place), good, bad) for place, (good, bad) in enumerate(files)]
    svg = ElementTree.fromstring(day_bars(shown))
    bars = svg.findall("g/rect")
    assert len(bars) == sum((good > 0) + (bad > 0) for good, bad in files)
    assert all(0 <= float(bar.get("y", "")) <= strips.DAYS_FOOT for bar in bars)
    sent = sum(good + bad for good, bad in files)
    assert f"{sent:,} sent" in svg.get("aria-label", "")


def test_the_best_score_rises_to_the_right_edge():
    assert best_line([], until=FIRST) is None
    svg = best_line([(FIRST, 90_000), (FIRST + timedelta(3), 91_000)], until=FIRST + timedelta(10))
    assert svg is not None and ">0.90000<" in svg and ">0.91000<" in svg
    heights = [float(y) for y in re.findall(r'class="step" [^>]*y2="([^"]*)"', svg)]
    assert heights == sorted(heights, reverse=True)
    assert svg.count('x2="100.00%"') == 2

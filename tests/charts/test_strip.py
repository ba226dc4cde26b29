"""The strip of a leaderboard's scores: every team is in it, inside the picture, and the own one is marked."""

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from grader.charts.strips import BEST, strip_chart

SCORES = st.dictionaries(st.integers(0, 100_000), st.integers(1, 300), max_size=60)


@given(SCORES, st.data())
def test_every_team_lies_inside_the_picture(scores: dict[int, int], data: st.DataObject):
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
    heights = [float(each.get("cy", each.get("y", "0"))) for each in svg if each.tag in ("circle", "rect")]
    assert all(0 < height <= BEST.foot for height in heights)
    assert len(svg.findall("*[@class='own']")) == (0 if own is None else 3)
    dots, teams = len(svg.findall("circle[@class='dot']")), sum(scores.values())
    assert dots == teams or (dots == 0 and len(svg.findall("rect")) <= BEST.count)


def test_few_teams_are_dots_and_many_are_bars():
    assert _tags({90_000: 1}) == {"circle"}
    assert _tags({90_000 + 100 * place: 1 for place in range(15)}) == {"circle"}
    many = {80_000 + place: 1 for place in range(10_000)}
    assert _tags(many) == {"rect"}
    chart = strip_chart(many)
    assert chart is not None
    assert len(chart.svg) < 6_000


def test_a_few_low_scores_do_not_push_the_others_together():
    scores = {50_000: 2} | {93_000 + 100 * place: 1 for place in range(15)}
    chart = strip_chart(scores, own=93_000)
    assert chart is not None
    assert (chart.below, chart.floor) == (2, "0.93000")
    assert "Best scores of 17 teams, from 0.50000 to 0.94400; yours is 0.93000" in chart.svg
    places = [float(each) for each in re.findall(r'class="dot" cx="([\d.]+)%', chart.svg)]
    assert max(places) - sorted(places)[2] > 40


def _tags(scores: dict[int, int]) -> set[str]:
    chart = strip_chart(scores)
    assert chart is not None
    return {each.tag for each in ElementTree.fromstring(chart.svg)} & {"circle", "rect"}

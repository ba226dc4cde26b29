"""Leaderboard charts: lines within the chart area, and displayed values."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.charts.frontier import cloud, front, frontier_chart, labeled
from grader.charts.steps import Steps, step_chart
from grader.charts.svg import WIDE
from grader.ranking.order import Scale, TeamEntry

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOSTILE = 'a "b" <script>&'
NAMES = ("Overall AUC", "Worst bias term")


@st.composite
def teams(draw):
    """Generate teams with one to four increasing scores, best first."""
    found = []
    for number in range(draw(st.integers(1, 12))):
        units = sorted(draw(st.sets(st.integers(0, 100_000), min_size=1, max_size=4)))
        minutes = sorted(draw(st.sets(st.integers(0, 10**5), min_size=len(units), max_size=len(units))))
        entries = [
            TeamEntry(number, place, each, NOON + at * MINUTE)
            for place, (each, at) in enumerate(zip(units, minutes, strict=True))
        ]
        found.append(entries)
    found.sort(key=lambda entries: -entries[-1].score_units)
    return [Steps(rank, f"Team {rank}", rank == 2, entries) for rank, entries in enumerate(found, 1)]


def lines(svg, kind):
    found = re.findall(rf'<polyline class="{kind} [^"]*" points="([^"]*)"', svg)
    return [[tuple(map(float, place.split(","))) for place in each.split()] for each in found]  # type: ignore[misc]


@given(teams(), st.integers(-100, 10**5))
def test_steps_go_right_or_up_inside_the_area_and_end_at_its_edge(shown, until):
    chart = step_chart(shown, until=NOON + until * MINUTE)
    assert chart is not None
    drawn = lines(chart.svg, "step")
    assert len(drawn) == len(shown)
    for places in drawn:
        assert all(WIDE.left <= x <= WIDE.right and WIDE.top <= y <= WIDE.bottom for x, y in places)
        assert all(a == c or b == d for (a, b), (c, d) in pairwise(places))
        assert all(a <= c and b >= d for (a, b), (c, d) in pairwise(places))
        assert places[-1][0] == WIDE.right
    # The best team is rendered last.
    lasts = [places[-1][1] for places in reversed(drawn)]
    assert lasts == sorted(lasts)


def test_names_are_escaped_and_charts_have_no_styles():
    steps = step_chart([Steps(1, HOSTILE, True, [TeamEntry(1, 1, 5, NOON)])], until=NOON)
    assert steps is not None
    picture = ElementTree.fromstring(steps.svg)
    assert picture.get("role") == "img" and picture.get("aria-label")
    assert f"1. {HOSTILE}" in [text.text for text in picture.iter("text")]
    assert {each.tag for each in picture.iter()} <= {"svg", "path", "polyline", "text", "circle"}
    attributes = {name for each in picture.iter() for name in each.attrib}
    assert not {name for name in attributes if name.startswith("on") or name in ("style", "href")}


@pytest.mark.parametrize(
    "scores", [(1e-6, 3e-6), (0.91, 0.93), (-4.0, -2.5), (28_797.34311, 31_000.0), (1e10, 4e10)]
)
def test_labels_of_scores_of_any_size_differ_and_have_room_beside_the_area(scores):
    scale = Scale(6 if scores[1] < 1 else 5, is_lowest_best=True)
    entries = [TeamEntry(1, number, scale.units(each), NOON) for number, each in enumerate(scores[::-1])]
    chart = step_chart([Steps(1, "Ann", True, entries)], until=NOON, scale=scale)
    assert chart is not None
    for svg in (chart.svg, chart.narrow_svg):
        labels = ElementTree.fromstring(svg).findall("./text[@class='level-text']")
        written = [each.text or "" for each in labels]
        assert len(written) > 1 and len(set(written)) == len(written)
        assert all(float(each.get("x") or 0) >= 6.5 * len(each.text or "") for each in labels), written


values = st.integers(5_000, 10_000).map(lambda units: units / 10_000)
spots = st.lists(st.tuples(values, values), min_size=1, max_size=40)


@given(spots)
def test_front_contains_the_teams_that_no_other_team_dominates(shown):
    best = [shown[place] for place in front(shown)]
    for spot in shown:
        assert any(overall >= spot[0] and worst >= spot[1] for overall, worst in best)
    for each in best:
        assert not any(other[0] >= each[0] and other[1] >= each[1] and other != each for other in shown)


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)), min_size=1, max_size=9))
def test_chart_of_any_values_has_finite_coordinates(shown):
    for is_lowest_best in (False, True):
        found = cloud(shown, NAMES, is_lowest_best=is_lowest_best)
        assert found is not None
        svg = frontier_chart(found, names=dict.fromkeys(labeled(found), "Ann"), own=None)[0]
        ElementTree.fromstring(svg)
        assert not re.search(r'="[^"]*\b(nan|inf)\b', svg)

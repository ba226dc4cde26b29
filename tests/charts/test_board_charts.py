"""Leaderboard charts: lines within the chart area, and displayed values."""

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from grader.charts import steps as step_charts
from grader.charts.frontier import Cloud, cloud, front, frontier_chart, labeled
from grader.charts.steps import Steps, step_chart
from grader.charts.svg import NAME_LENGTH, WIDE, Place, shortened, spread
from grader.ranking.order import TeamEntry

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
AREA = WIDE.area
HOSTILE = 'a "b" <script>&'
NAMES = ("Overall AUC", "Worst bias term")


@st.composite
def teams(draw: st.DrawFn) -> list[Steps]:
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


def lines(svg: str, kind: str) -> list[list[tuple[float, float]]]:
    found = re.findall(rf'<polyline class="{kind} [^"]*" points="([^"]*)"', svg)
    return [[tuple(map(float, place.split(","))) for place in each.split()] for each in found]  # type: ignore[misc]


@given(teams(), st.integers(-100, 10**5))
def test_steps_go_right_or_up_inside_the_area_and_end_at_its_edge(shown: list[Steps], until: int):
    chart = step_chart(shown, until=NOON + until * MINUTE)
    assert chart is not None
    drawn = lines(chart.svg, "step")
    assert len(drawn) == len(shown)
    for places in drawn:
        assert all(AREA.left <= x <= AREA.right and AREA.top <= y <= AREA.bottom for x, y in places)
        assert all(a == c or b == d for (a, b), (c, d) in pairwise(places))
        assert all(a <= c and b >= d for (a, b), (c, d) in pairwise(places))
        assert places[-1][0] == AREA.right
    # The best team is rendered last.
    lasts = [places[-1][1] for places in reversed(drawn)]
    assert lasts == sorted(lasts)


@given(teams())
def test_floor_is_named_only_if_a_score_is_below_it(shown: list[Steps]):
    chart = step_chart(shown, until=NOON)
    assert chart is not None
    lowest = min(team.steps[0].score_units for team in shown)
    assert chart.floor is None or lowest < round(float(chart.floor) * 100_000)
    ends = [team.steps[-1].score_units for team in shown]
    assert chart.floor is None or sorted(ends)[(len(ends) - 1) // 2] >= round(float(chart.floor) * 100_000)


def test_baselines_do_not_compress_the_best_teams_in_any_chart():
    good = [93_000 + 60 * place for place in range(9)]
    units = [*good, 50_000, 39_000, 44_000]
    steps = step_chart(
        [Steps(1, "Best", False, [TeamEntry(1, 1, max(good), NOON)])],
        until=NOON,
        others=[[TeamEntry(2, 2, each, NOON)] for each in units],
    )
    assert steps is not None and steps.floor is not None and float(steps.floor) > 0.92
    drawn = cloud([(each / 100_000, each / 100_000) for each in units], NAMES)
    assert drawn is not None and drawn.outside == 3 and min(drawn.x.low, drawn.y.low) > 0.92


def test_no_teams_have_no_chart():
    assert step_chart([], until=NOON) is None


def test_names_are_escaped_and_charts_have_no_styles():
    steps = step_chart([Steps(1, HOSTILE, True, [TeamEntry(1, 1, 5, NOON)])], until=NOON)
    assert steps is not None
    picture = ElementTree.fromstring(steps.svg)
    assert picture.get("role") == "img" and picture.get("aria-label")
    assert f"1. {HOSTILE}" in [text.text for text in picture.iter("text")]
    assert {each.tag for each in picture.iter()} <= {"svg", "path", "polyline", "text", "circle"}
    attributes = {name for each in picture.iter() for name in each.attrib}
    assert attributes <= {
        "class",
        "viewBox",
        "role",
        "aria-label",
        "d",
        "points",
        "x",
        "y",
        "cx",
        "cy",
        "r",
        "data-time",
        "data-form",
        "transform",
    }


def test_long_name_is_shortened():
    assert shortened("a" * NAME_LENGTH) == "a" * NAME_LENGTH
    assert shortened("a" * (NAME_LENGTH + 1)) == "a" * (NAME_LENGTH - 1) + "…"
    assert shortened("name " * 9) == "name name name name n…"


@given(st.lists(st.floats(0, 100), max_size=12), st.floats(0, 20))
def test_labels_keep_their_order_and_a_gap_if_there_is_space(wanted: list[float], gap: float):
    places = spread(wanted, gap=gap, lowest=0, highest=100)
    assert all(-1e-6 <= place <= 100 + 1e-6 for place in places)
    kept = min(gap, 100 / max(1, len(wanted) - 1))
    assert all(later - place >= kept - 1e-6 for place, later in pairwise(sorted(places)))
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    assert [places[each] for each in order] == sorted(places)


def test_colors_repeat_after_ten_teams():
    shown = [Steps(rank, "t", False, [TeamEntry(rank, rank, 99 - rank, NOON)]) for rank in range(1, 13)]
    chart = step_chart(shown, until=NOON)
    assert chart is not None
    drawn = re.findall(r'class="step s(\d+)"', chart.svg)
    assert sorted(map(int, drawn)) == sorted([*range(step_charts.COLOURS), 0, 1])


@given(teams(), st.integers(0, 10**5))
def test_crowd_is_an_ordered_band_inside_the_chart(shown: list[Steps], until: int):
    others = [team.steps for team in shown] * 15
    chart = step_chart(shown[:3], until=NOON + until * MINUTE, others=others)
    assert chart is not None
    assert all(level.low <= level.middle <= level.high for level in chart.band)
    found = re.findall(r'<polygon class="band" points="([^"]*)"', chart.svg)
    places = [tuple(map(float, place.split(","))) for each in found for place in each.split()]
    assert all(AREA.left - 0.1 <= x <= AREA.right + 0.1 for x, _ in places)
    assert all(AREA.top - 0.1 <= y <= AREA.bottom + 0.1 for _, y in places)
    assert "narrow" in chart.narrow_svg and 'viewBox="0 0 360' in chart.narrow_svg


def test_single_entry_is_rendered_as_a_point_with_ticks_on_both_axes():
    chart = step_chart([Steps(1, "Ann", True, [TeamEntry(1, 1, 90_000, NOON)])], until=NOON)
    assert chart is not None and chart.svg.count("<circle") == 1
    assert chart.svg.count('class="tick"') >= 2 and chart.svg.count('class="level-text"') >= 2


values = st.integers(5_000, 10_000).map(lambda units: units / 10_000)
spots = st.lists(st.tuples(values, values), min_size=1, max_size=40)


@given(spots)
def test_front_contains_the_teams_that_no_other_team_dominates(shown: list[Place]):
    best = [shown[place] for place in front(shown)]
    for spot in shown:
        assert any(overall >= spot[0] and worst >= spot[1] for overall, worst in best)
    for each in best:
        assert not any(other[0] >= each[0] and other[1] >= each[1] and other != each for other in shown)


def drawn(shown: list[Place], *, is_narrow: bool = False) -> tuple[Cloud, str]:
    found = cloud(shown, NAMES)
    assert found is not None
    return found, frontier_chart(found, names={0: '<a> & "b"'}, own=0)[is_narrow]


@given(spots, st.booleans())
def test_frontier_chart_shows_each_place_once_or_counts_teams_outside(shown: list[Place], is_narrow: bool):
    found, svg = drawn(shown, is_narrow=is_narrow)
    dots = svg.count('class="dot"')
    assert min(1, len(shown) - found.outside) <= dots <= len(shown) - found.outside
    assert svg.count('class="dot best"') == len(front(shown))
    assert '<a> & "b"' in [text.text for text in ElementTree.fromstring(svg).iter("text")]
    _, many = drawn(shown * 1000, is_narrow=is_narrow)
    assert 1 <= many.count('class="dot"') <= len(set(shown))
    assert cloud([], NAMES) is None


def test_the_lowest_values_are_at_the_top_right_if_they_are_the_best():
    found = cloud([(0.2, 0.4), (0.3, 0.9)], ("RMSE", "Worst group"), is_lowest_best=True)
    assert found is not None and found.best == (0,)
    texts = [
        each.text or ""
        for each in ElementTree.fromstring(frontier_chart(found, names={0: "Ann"}, own=None)[0]).iter("text")
    ]
    ticks = [float(each) for each in texts if re.fullmatch(r"[\d.]+", each)]
    assert {"RMSE", "Worst group", "Ann"} < {*texts} and ticks and min(ticks) >= 0


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)), min_size=1, max_size=9))
def test_chart_of_any_values_has_finite_coordinates(shown: list[Place]):
    for is_lowest_best in (False, True):
        found = cloud(shown, NAMES, is_lowest_best=is_lowest_best)
        assert found is not None
        svg = frontier_chart(found, names=dict.fromkeys(labeled(found), "Ann"), own=None)[0]
        ElementTree.fromstring(svg)
        assert not re.search(r'="[^"]*\b(nan|inf)\b', svg)

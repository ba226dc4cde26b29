"""The strip of score changes: every team lies inside the picture, on its side of zero."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from grader.charts.strips import CHANGES, change_strip


@given(st.lists(st.integers(-100_000, 100_000), max_size=300))
def test_every_change_is_drawn_inside_the_picture_on_its_side(units: list[int]):
    svg = change_strip(units)
    if svg is None:
        assert not units
        return
    marks = [each for each in ElementTree.fromstring(svg) if each.tag in ("circle", "rect")]
    for mark in marks:
        left = float(mark.get("cx", mark.get("x", "")).removesuffix("%"))
        middle = left + float(mark.get("width", "0%").removesuffix("%")) / 2
        assert 0 <= middle <= 100 and 0 < float(mark.get("cy", mark.get("y", ""))) < CHANGES.foot
        assert {"rose": middle > 50, "fell": middle < 50, "stayed": abs(middle - 50) < 0.1}[
            mark.get("class", "")
        ]
    assert len(marks) == len(units) or {mark.tag for mark in marks} == {"rect"}


def test_few_teams_are_dots_many_are_bars_and_the_ends_are_told():
    few, many = change_strip([-1200, 0, 300]), change_strip([place % 700 - 350 for place in range(10_000)])
    assert few is not None and many is not None
    assert few.count("<circle") == 3 and ">-0.01200<" in few and ">+0.01200<" in few
    assert "Score changes from -0.01200 to +0.00300: 1 fall, 1 rise" in few
    assert "<circle" not in many and len(many) < 8_000

"""The leak budget and the safe step on organizers' pages and in their answers of the API."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest

from grader.services.competitions import lookup
from grader.visibility import Feedback, Step
from tests.fixtures.desk import API, Desk

HERE = "/competitions/toxicity/organize"
DESK = f"{API}{HERE}"
DAY = timedelta(days=1)
LIMITS = {"max_daily_submissions": 5, "max_total_submissions": None}


@pytest.fixture
def root(arena: Any) -> Any:
    """An administrator of the site."""
    return arena.person("Root", is_admin=True)


def text_of(root: Any, path: str) -> str:
    return " ".join(html.unescape(root.browser.get(path).text).split())


def competition(arena: Any, **chosen: Any) -> None:
    now = arena.now()
    arena.competition(**{"opens_at": now + DAY, "closes_at": now + 30 * DAY, **LIMITS, **chosen})


def test_before_the_opening_the_modes_are_compared_and_a_small_step_is_warned_of(
    arena: Any, root: Any
) -> None:
    competition(arena, feedback=Feedback.TIERED, feedback_step=Step.OF_0_0005)
    page = text_of(root, f"{HERE}/settings/metric")
    assert "a team may send 150 files" in page
    assert re.search(
        r"in the mode “tiered” with the step 0.0005, \d\.\d per file. That is more than 5 %.", page
    )
    assert 'href="/competitions/toxicity/organize/settings/dates">allow fewer files' in page
    assert all(f'<th scope="col" class="number">{mode}' in page for mode in Feedback)
    assert "The step 0.0005 is small for this solution" in page
    state = text_of(root, f"{HERE}/state")
    assert "The step 0.0005 is small for this solution" in state
    assert 'href="/competitions/toxicity/organize/settings/metric">choose another mode' in state


def test_a_wide_step_shows_what_is_proposed(arena: Any, root: Any) -> None:
    competition(arena, feedback=Feedback.LADDER, feedback_step=Step.OF_0_05)
    page = text_of(root, f"{HERE}/settings/metric")
    assert "For your solution we propose the step 0.0" in page
    assert "is small for this solution" not in page


def test_the_console_has_the_mode_that_is_fixed_until_the_close(arena: Any, root: Any) -> None:
    now = arena.now()
    competition(arena, opens_at=now - 10 * DAY, feedback=Feedback.LADDER)
    page = text_of(root, HERE)
    assert "in the mode “ladder” with the step 0.002" in page
    assert "From the opening to the close a team may send 205 files" in page
    assert "From now until the close it may send 155 files." in page
    assert "choose another mode" not in page
    arena.competition("over", opens_at=now - 9 * DAY, closes_at=now - DAY, **LIMITS)
    assert "Leak budget" not in text_of(root, "/competitions/over/organize")


def test_blind_competitions_and_those_without_limits_say_so(arena: Any, root: Any) -> None:
    competition(arena, feedback=Feedback.BLIND)
    assert "a team learns no label before the reveal" in text_of(root, HERE)
    arena.competition("endless", **LIMITS)
    page = text_of(root, "/competitions/endless/organize")
    assert "nothing limits what a team can learn" in page
    assert "Set limits" in page


def test_a_draft_without_a_solution_shows_the_files_alone(arena: Any, root: Any) -> None:
    root.post("/competitions/new", {"title": "Next", "slug": "next"})
    with arena.database.write() as session:
        lookup.get(session, slug="next").max_total_submissions = 9
    page = text_of(root, "/competitions/next/organize/settings/metric")
    assert "A team may send 9 files" in page
    assert "once the solution is checked" in page


def test_organizers_too_see_no_key_of_the_feedback(arena: Any, root: Any) -> None:
    competition(arena)
    pat = Desk(root)
    pat("PATCH", f"{DESK}/settings", json={"feedback": "noised"})
    with arena.database.read() as session:
        key = lookup.get(session, slug="toxicity").feedback_key
    for place in ("", "/settings/metric", "/state", "/audit", "/exports/audit.json"):
        assert key not in root.browser.get(f"{HERE}{place}").text, place
    for place in ("", "/settings", "/settings.toml", "/state", "/audit"):
        assert key not in pat("GET", f"{DESK}{place}").text, place


def test_the_api_has_the_budget_the_step_and_the_warning(arena: Any, root: Any) -> None:
    competition(arena, feedback=Feedback.TIERED, feedback_step=Step.OF_0_0005)
    pat = Desk(root)
    found = pat("GET", f"{DESK}/settings").json
    assert found["settings"]["feedback_step"] == "0.0005"
    assert float(found["safe_step"]["step"]) > 0.0005
    assert [each["fields"] for each in found["warnings"]] == [["feedback_step"]]
    assert found["leak_budget"]["files"] == 150
    assert {each["feedback"] for each in found["leak_budget"]["modes"]} == set(Feedback)
    line = found["leak_budget"]["identities"][0]
    assert 0 < line["labels"] <= line["ceiling"] <= line["rows"]
    assert pat("GET", DESK).json["leak_budget"] == found["leak_budget"]

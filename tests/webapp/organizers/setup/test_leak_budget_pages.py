"""Leak budget and safe step on organizers' pages and in API responses."""

import html
import re
from datetime import timedelta

import pytest

from grader.services.competitions import lookup
from grader.services.competitions import settings as competition_settings
from grader.services.setup import leak_budget
from grader.services.setup.leak_budget import Audience
from grader.visibility import Feedback, Step
from tests.fixtures.desk import API, Desk

HERE = "/competitions/toxicity/organize"
DESK = f"{API}{HERE}"
DAY = timedelta(days=1)
FORM = {"feedback": "open", "feedback_step": "0.002"}
LIMITS = {"max_daily_submissions": 5, "max_total_submissions": None}


@pytest.fixture
def root(arena):
    """An administrator of the site."""
    return arena.person("Root", is_admin=True)


def text_of(root, path: str) -> str:
    return " ".join(html.unescape(root.browser.get(path).text).split())


def competition(arena, **chosen):
    now = arena.now()
    arena.competition(**{"opens_at": now + DAY, "closes_at": now + 30 * DAY, **LIMITS, **chosen})


def test_before_the_opening_modes_are_compared_and_a_small_step_causes_a_warning(arena, root):
    competition(arena, feedback=Feedback.TIERED, feedback_step=Step.OF_0_0005)
    page = text_of(root, f"{HERE}/settings/metric")
    assert "a team may submit 150 files" in page
    assert re.search(r"in “tiered” mode with a step of 0.0005, \d\.\d per file. That is more than 5 %.", page)
    assert 'href="/competitions/toxicity/organize/settings/dates">allow fewer files' in page
    assert all(f'<th scope="col" class="number">{mode}' in page for mode in Feedback)
    assert "A step of 0.0005 is too small for this solution" in page
    state = text_of(root, f"{HERE}/state")
    assert "A step of 0.0005 is too small for this solution" in state
    assert 'href="/competitions/toxicity/organize/settings/metric">choose another mode' in state


def test_a_wide_step_shows_the_proposed_one(arena, root):
    competition(arena, feedback=Feedback.LADDER, feedback_step=Step.OF_0_05)
    page = text_of(root, f"{HERE}/settings/metric")
    assert "For your solution, a step of 0.0" in page
    assert "is too small for this solution" not in page


def test_the_setup_asks_for_the_audience_and_saves_the_proposal(arena, root):
    competition(arena)
    page = text_of(root, f"{HERE}/settings/metric")
    question = page[page.index('id="audience"') : page.index('class="own-mode')]
    assert "The current feedback mode is <strong>open</strong>." in question
    assert "checked" not in question
    assert [
        (words, mode) for words, mode in re.findall(r"<strong>([A-Z][^<]+)</strong>: <code>(\w+)", question)
    ] == [
        ("A class or colleagues", "open"),
        ("An open competition", "open"),
        ("Prizes are at stake", "ladder"),
    ]
    proposed = question.rpartition("with a step of ")[2].split(".")[1][:5].split()[0]
    step = f"0.{proposed}".rstrip(".")
    assert step in set(Step) - {Step.OF_0_0005}
    assert question.count("Leak budget: a team that uses all its 150 files for probing") == 3
    form = page[page.index('id="feedback_step"') :]
    assert re.search(rf'<input checked[^>]* value="{step}"', form)
    answer = root.post(f"{HERE}/settings/metric", {**FORM, "audience": "prizes"})
    assert answer.status_code == 303
    with arena.database.read() as session:
        made = lookup.get(session, slug="toxicity")
        assert (made.feedback, made.feedback_step) == (Feedback.LADDER, Step(step))
    page = text_of(root, f"{HERE}/settings/metric")
    assert 'value="prizes" checked' in page
    root.post(f"{HERE}/settings/metric", {**FORM, "audience": "class", "feedback": "blind"})
    with arena.database.read() as session:
        assert lookup.get(session, slug="toxicity").feedback is Feedback.OPEN
    root.post(f"{HERE}/settings/metric", {**FORM, "audience": "custom", "feedback": "blind"})
    with arena.database.read() as session:
        assert lookup.get(session, slug="toxicity").feedback is Feedback.BLIND


def test_each_coarse_mode_has_its_own_preview(arena, root):
    competition(arena, feedback=Feedback.LADDER, feedback_step=Step.OF_0_005)
    page = text_of(root, f"{HERE}/settings/metric")
    shown = {}
    for mode in ("tiered", "ladder", "noised", "blind"):
        section = page[page.index(f'class="mode-preview {mode}"') :].partition("</section>")[0]
        cells = re.findall(r'<td class="number">([^<]+)</td>', section)
        shown[mode] = cells[1::2]
        assert len(cells) == 10
    assert shown["blind"] == ["not shown"] * 5
    assert [each == "no new best" for each in shown["ladder"]] == [False, True, False, True, False]
    assert {len(each) for mode in ("tiered", "noised") for each in shown[mode]} == {len("0.905")}
    assert all(float(each) * 1000 % 5 == 0 for each in shown["tiered"] + shown["noised"])


def test_bands_are_proposed_for_few_files_and_a_ladder_for_many(arena):
    now = arena.now()
    competition(arena)
    with arena.database.read() as session:
        made = lookup.get(session, slug="toxicity")
        settings = competition_settings.of(made)
        found = {
            count: leak_budget.feedback_proposals(
                made, settings.changed(max_total_submissions=count), now=now
            )[Audience.PRIZES]
            for count in (1, 100)
        }
    assert {count: each.feedback for count, each in found.items()} == {
        1: Feedback.TIERED,
        100: Feedback.LADDER,
    }
    assert not found[1].budget.is_large


def test_the_console_shows_the_fixed_mode_until_the_close(arena, root):
    now = arena.now()
    competition(arena, opens_at=now - 10 * DAY, feedback=Feedback.LADDER)
    page = text_of(root, HERE)
    assert "in “ladder” mode with a step of 0.002" in page
    assert "From the opening to the close, a team may submit 205 files" in page
    assert "From now until the close, it may submit 155 files." in page
    assert "choose another mode" not in page
    arena.competition("over", opens_at=now - 9 * DAY, closes_at=now - DAY, **LIMITS)
    assert "Leak budget" not in text_of(root, "/competitions/over/organize")


def test_a_draft_without_a_solution_shows_only_the_number_of_files(arena, root):
    root.post("/competitions/new", {"title": "Next", "slug": "next"})
    with arena.database.write() as session:
        lookup.get(session, slug="next").max_total_submissions = 9
    page = text_of(root, "/competitions/next/organize/settings/metric")
    assert "A team may submit 9 files" in page
    assert "once the solution has been checked" in page


def test_organizers_cannot_see_the_feedback_key(arena, root):
    competition(arena)
    pat = Desk(root)
    pat("PATCH", f"{DESK}/settings", json={"feedback": "noised"})
    with arena.database.read() as session:
        key = lookup.get(session, slug="toxicity").feedback_key
    for place in ("", "/settings/metric", "/state", "/audit", "/exports/audit.json"):
        assert key not in root.browser.get(f"{HERE}{place}").text, place
    for place in ("", "/settings", "/settings.toml", "/state", "/audit"):
        assert key not in pat("GET", f"{DESK}{place}").text, place


def test_the_api_returns_the_budget_the_step_and_the_warning(arena, root):
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


def test_an_invalid_mode_or_audience_changes_nothing(arena, root):
    competition(arena)
    answer = root.post(f"{HERE}/settings/metric", {**FORM, "audience": "nobody", "feedback_step": "7"})
    assert answer.status_code == 422
    assert "Step: choose one." in html.unescape(answer.text)
    answer = root.post(f"{HERE}/settings/metric", {"audience": "nobody"})
    assert answer.status_code == 422
    with arena.database.read() as session:
        assert lookup.get(session, slug="toxicity").feedback is Feedback.OPEN

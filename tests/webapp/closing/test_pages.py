"""Close & results page: missing steps, jobs, actions, published solution, receipts."""

import hashlib
import io
import json
import re
import zipfile
from datetime import timedelta

import pytest

from grader.files.solution.canonical_form import commitment_to
from grader.models import Role, Submission
from grader.services.competitions import acting, lookup
from grader.services.site.log import Actor
from grader.services.submissions import selections
from grader.worker.scheduled_tasks import run_calendar
from tests.fixtures.arena import main_text
from webapp.presentation.formats import moment

HERE = "/competitions/toxicity"
CLOSE = f"{HERE}/organize/close"


@pytest.fixture
def scene(arena):
    """A competition with a scored team and one organizer with each role."""
    arena.competition()
    arena.ann, arena.ed, arena.vic = (arena.person(name) for name in ("Ann", "Ed", "Vic"))
    for person, role in ((arena.ed, Role.EDITOR), (arena.vic, Role.VIEWER)):
        arena.give_role(person, role)
    arena.submission_id = arena.submit(arena.ann, arena.truth.predictions())
    arena.submit(arena.ann, arena.truth.predictions(seed=2))
    arena.score_all()
    return arena


def close(arena):
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        competition.closes_at = arena.now() - timedelta(seconds=1)
    run_calendar(arena.database)


def test_the_page_leads_through_all_steps_to_the_results(scene):
    ed, bundle = scene.ed, "/competitions/toxicity/organize/exports/results.zip"
    assert "Running" in ed.browser.get(CLOSE).text
    close(scene)
    page = ed.browser.get(CLOSE).text
    assert "Everything is ready." in page
    assert ed.browser.get(bundle).status_code == 409
    asked = ed.post(f"{CLOSE}/reveal")
    assert (asked.status_code, "Reveal the private leaderboard?" in asked.text) == (409, True)
    assert ed.confirm(f"{CLOSE}/reveal").status_code == 303
    assert bundle in ed.browser.get(CLOSE).text
    answer = scene.vic.browser.get(bundle)
    assert answer.mimetype == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.data)) as archive:
        assert "toxicity/standings.csv" in archive.namelist()
        assert "toxicity/solution.csv" not in archive.namelist()
    assert scene.ann.browser.get(bundle).status_code == 403


def test_organizers_see_the_shake_up_before_and_after_the_reveal(scene):
    bob = scene.person("Bob")
    scene.submit(bob, scene.truth.predictions(noise=3, seed=4))
    scene.score_all()
    assert "shake-up" not in scene.vic.browser.get(CLOSE).text
    close(scene)
    page = scene.vic.browser.get(CLOSE).text
    assert "Expected shake-up" in page and "hidden until you reveal them" in page
    assert page.count('data-label="Private score"') == 2
    assert bob.browser.get(CLOSE).status_code == 403
    scene.reveal()
    assert ">Shake-up</h2>" in scene.vic.browser.get(CLOSE).text


def test_closing_now_requires_confirmation_and_ends_submissions_entry_and_mergers(scene):
    with scene.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        competition.closes_at = scene.now() + timedelta(days=9)
        competition.entry_deadline = competition.merger_deadline = scene.now() + timedelta(days=5)
    console = scene.ed.browser.get(f"{HERE}/organize").text
    assert f'action="{CLOSE}/now"' in console
    assert f'action="{CLOSE}/now"' in scene.ed.browser.get(CLOSE).text
    asked = scene.ed.post(f"{CLOSE}/now", {"reason": "The room is needed."})
    assert asked.status_code == 409
    assert "Close Toxicity now?" in asked.text
    with scene.database.read() as session:
        assert lookup.get(session, slug="toxicity").closes_at > scene.now()
    assert scene.ed.confirm(f"{CLOSE}/now", {"reason": "The room is needed."}).status_code == 303
    with scene.database.read() as session:
        competition = lookup.get(session, slug="toxicity")
        assert competition.closes_at <= scene.now()
        assert competition.entry_deadline == competition.merger_deadline == competition.closes_at
    assert f'action="{CLOSE}/now"' not in scene.ed.browser.get(CLOSE).text
    assert "The room is needed." in scene.ed.browser.get(f"{HERE}/organize/audit").text


def test_pages_state_the_extension_of_a_team(scene):
    now = scene.now()
    until = (now + timedelta(days=9)).replace(microsecond=0)
    with scene.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        competition.opens_at, competition.closes_at = now - timedelta(days=1), now + timedelta(days=1)
        act = acting.begin(session, competition=competition, actor=Actor(None, "tests"))
        team = session.get_one(Submission, scene.submission_id).team
        selections.extend(act, team=team, until=until, reason="Ill.")
    asked = main_text(scene.ed.post(f"{CLOSE}/now"))
    shown = moment(until)
    assert f"files that count, except 1 team with an extension until {shown} at the latest." in asked
    assert f"is revealed automatically on {shown}, or later" in asked
    assert scene.ed.confirm(f"{CLOSE}/now").status_code == 303
    assert 'disabled aria-describedby="too-early">Reveal' in scene.ed.browser.get(CLOSE).text
    page = main_text(scene.ann.browser.get(HERE))
    assert "Over" not in page and "Submissions left" in page
    assert re.search("Your team's deadline .* Results", page)
    bob = scene.person("Bob")
    assert "Over" in main_text(bob.browser.get(HERE))
    for person, left in ((scene.ann, "Left 8 d"), (bob, "Left Over")):
        assert left in main_text(person.browser.get("/"))


def test_the_published_solution_and_complete_receipts_are_public(scene):
    receipt = f"{HERE}/submissions/{scene.submission_id}/receipt"
    own = scene.ann.browser.get(receipt)
    assert own.headers["Content-Disposition"] == "attachment; filename=receipt-1-v1.json"
    assert "counts" in scene.vic.browser.get(receipt).json["splits"]["private"]
    assert scene.vic.browser.get(f"{receipt}?version=7").status_code == 404
    refused = scene.ed.confirm(f"{CLOSE}/solution")
    assert refused.status_code == 409
    assert "has not been revealed" in refused.text
    assert scene.ann.browser.get(f"{HERE}/data/solution.csv").status_code == 404
    assert scene.ann.browser.get(f"{HERE}/data/solution-nonce.txt").status_code == 404
    scene.reveal()
    assert scene.ed.confirm(f"{CLOSE}/solution").status_code == 303
    answer = scene.app.test_client().get(f"{HERE}/data/solution.csv")
    whole = json.loads(scene.ann.browser.get(receipt).data)
    nonce = scene.app.test_client().get(f"{HERE}/data/solution-nonce.txt").text
    commitment = commitment_to(hashlib.sha256(answer.data).hexdigest(), nonce.strip())
    assert commitment == whole["solution"]["commitment"] == own.json["solution"]["commitment"]
    assert f'href="{HERE}/data/solution.csv"' in scene.app.test_client().get(f"{HERE}/data").text

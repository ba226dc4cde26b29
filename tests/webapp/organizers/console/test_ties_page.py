"""Ties with the team above: request, computation, staleness after changes."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from grader import db
from grader.models import JobState, OrganizerJob, Role
from grader.services.audit.log import Actor
from grader.services.competitions import acting, lookup
from grader.services.competitions.settings_model import SETTINGS
from grader.services.moderation import decisions
from grader.worker.scheduled_tasks import Calendar

HERE = "/competitions/toxicity"
TIES = f"{HERE}/organize/ties"
MARK = "tied with the team above"
# The podium has another title.
ROW_MARK = 'cannot show whether this team or the team directly above is better.">tied</small>'


@pytest.fixture
def scene(make_arena: Callable[..., Any]):
    """Two teams with similar submissions, one team far behind, and an editor."""
    arena = make_arena()
    arena.competition()
    arena.ann, arena.bob, arena.cem, arena.ed = (arena.person(name) for name in ("Ann", "Bob", "Cem", "Ed"))
    arena.give_role(arena.ed, Role.EDITOR)
    for person, noise, seed in ((arena.ann, 2.0, 1), (arena.bob, 2.0, 5), (arena.cem, 60.0, 9)):
        arena.submit(person, arena.truth.predictions(noise=noise, seed=seed))
    arena.score_all()
    return arena


def test_only_teams_that_cannot_be_separated_are_marked(scene):
    assert TIES in scene.ed.browser.get(f"{HERE}/leaderboard").text
    assert TIES not in scene.ann.browser.get(f"{HERE}/leaderboard").text
    assert "have not been compared" in scene.ed.browser.get(TIES).text
    assert scene.ed.post(TIES).status_code == 303
    assert "data-live" in scene.ed.browser.get(TIES).text
    scene.work()
    page = scene.ed.browser.get(TIES).text
    assert page.count(MARK) == 1
    assert page.index("Bob") < page.index("Cem")
    assert MARK not in page[page.index("Cem") :]
    assert "Private leaderboard" not in page
    assert "board has changed" not in page


def test_a_comparison_is_stale_after_a_new_entry(scene):
    scene.ed.post(TIES)
    scene.work()
    scene.submit(scene.cem, scene.truth.predictions(noise=1.0, seed=3))
    scene.score_all()
    assert "board has changed" in scene.ed.browser.get(TIES).text
    scene.ed.post(TIES)
    scene.work()
    assert "board has changed" not in scene.ed.browser.get(TIES).text


def test_the_private_leaderboard_is_compared_after_it_is_settled(scene):
    scene.reveal()
    scene.ed.post(TIES)
    scene.work()
    assert "Private leaderboard" in scene.ed.browser.get(TIES).text


def marks_ties(arena, value: bool):
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").marks_ties = value


def count_jobs(arena) -> int:
    with arena.database.read() as session:
        return int(session.scalar(select(func.count(OrganizerJob.id)).where(OrganizerJob.kind == "ties")))


def test_ties_are_public_after_the_reveal_without_an_organizers_action(scene):
    board = f"{HERE}/leaderboard/private"
    calendar = Calendar(scene.database)
    calendar.run_due()
    assert count_jobs(scene) == 0
    assert "everyone sees the ties" in scene.ed.browser.get(TIES).text
    scene.reveal()
    calendar.run_due()
    calendar.run_due()
    assert count_jobs(scene) == 1
    scene.work()
    calendar.run_due()
    assert count_jobs(scene) == 1
    assert scene.app.test_client().get(board).text.count(ROW_MARK) == 1
    assert ROW_MARK not in scene.app.test_client().get(f"{HERE}/leaderboard").text


def test_ties_are_compared_again_after_a_decision_and_a_day_after_a_failure(scene):
    board = f"{HERE}/leaderboard/private"
    calendar = Calendar(scene.database)
    scene.reveal()
    calendar.run_due()
    scene.work()
    with scene.database.write() as session:
        found = lookup.get(session, slug="toxicity")
        act = acting.begin(session, competition=found, actor=Actor.shell())
        decisions.disqualify(act, team="Cem", reason="Why")
    assert ROW_MARK not in scene.app.test_client().get(board).text
    calendar.run_due()
    calendar.run_due()
    assert count_jobs(scene) == 2
    scene.work()
    assert scene.app.test_client().get(board).text.count(ROW_MARK) == 1
    for days, count in ((0, 2), (2, 3)):
        with scene.database.write() as session:
            job = session.scalars(select(OrganizerJob).order_by(OrganizerJob.id.desc())).first()
            job.state, job.finished_at = JobState.FAILED, db.now(session) - timedelta(days=days)
        calendar.run_due()
        assert count_jobs(scene) == count


def test_the_choice_to_mark_ties_is_fixed_at_the_reveal(scene):
    assert SETTINGS["marks_ties"].fixed == SETTINGS["reveals_at"].fixed


def test_a_competition_that_does_not_mark_ties_creates_no_comparison_job(scene):
    marks_ties(scene, False)
    scene.reveal()
    Calendar(scene.database).run_due()
    assert count_jobs(scene) == 0


def test_marks_published_after_the_reveal_are_public(scene):
    board = f"{HERE}/leaderboard/private"
    marks_ties(scene, False)
    scene.ed.post(TIES)
    scene.work()
    assert scene.ed.confirm(f"{TIES}/publish").status_code == 409
    scene.reveal()
    assert "Compare the teams on the current" in scene.ed.confirm(f"{TIES}/publish").text
    scene.ed.post(TIES)
    scene.work()
    assert scene.ed.post(f"{TIES}/publish").status_code == 409
    assert ROW_MARK not in scene.ann.browser.get(board).text
    assert scene.ed.confirm(f"{TIES}/publish").status_code == 303
    public = scene.app.test_client().get(board).text
    assert public.count(ROW_MARK) == 1
    assert public.index("Bob") < public.index("Cem")
    assert ROW_MARK not in scene.ann.browser.get(f"{HERE}/leaderboard").text
    assert "was published" in scene.ann.browser.get(f"{HERE}/log").text
    scene.ed.post(TIES)
    scene.work()
    assert scene.app.test_client().get(board).text.count(ROW_MARK) == 1

"""Organizers' pages: access, roles, audit log, public log."""

import re
from html import unescape

import pytest

from grader.models import Role
from grader.services.competitions.acting import Act
from grader.services.site.log import Actor

HERE = "/competitions/toxicity"
ORGANIZE = f"{HERE}/organize"
TESTS = Actor(None, "tests")


def text(answer):
    plain = re.sub(r"<[^>]+>", " ", answer.text)
    return unescape(re.sub(r"\s+", " ", plain))


@pytest.fixture
def competition(arena):
    return arena.competition()


def organizer(arena, competition, name, role):
    person = arena.person(name)
    arena.give_role(person, role, competition.slug)
    return person


def test_an_owner_adds_changes_and_removes_organizers(arena, competition):
    ann = organizer(arena, competition, "Ann", Role.OWNER)
    bob = arena.person("Bob")
    page = ann.post(f"{ORGANIZE}/organizers", {"name": "Bob", "role": "viewer"}, follow_redirects=True)
    assert "The user is now an organizer." in text(page)
    assert bob.browser.get(f"{ORGANIZE}/audit").status_code == 200
    assert bob.confirm(f"{ORGANIZE}/organizers/{ann.user.id}/remove").status_code == 403
    ann.confirm(f"{ORGANIZE}/organizers/{bob.user.id}/change", {"role": "owner"})
    gone = bob.confirm(f"{ORGANIZE}/organizers/{ann.user.id}/remove", follow_redirects=True)
    assert "Ann is no longer an organizer." in text(gone)
    assert ann.browser.get(f"{ORGANIZE}/audit").status_code == 403


def test_the_audit_lists_user_action_time_change_and_reason(arena, competition):
    ann = organizer(arena, competition, "Ann", Role.OWNER)
    arena.person("Bob")
    ann.post(f"{ORGANIZE}/organizers", {"name": "Bob", "role": "viewer"})
    with arena.database.write() as session:
        Act(session, competition, TESTS, arena.now()).record(
            "team.rename",
            "team 7",
            before={"name": "<b>Rude</b>", "at": arena.now(), "list": ["a", "b"], "flag": True, "n": 1200},
            after={"name": "Nice", "at": None, "list": [], "flag": False, "n": 3},
            reason="It was rude.",
            public_text="A team has another name.",
        )
    page = ann.browser.get(f"{ORGANIZE}/audit")
    told = text(page)
    assert "Ann organizer.add organizer Bob" in told
    assert "role none → , then viewer" in told
    assert "<b>Rude</b> → , then Nice" in told and "<b>Rude" not in page.text
    assert '["a", "b"] → , then none' in told and "1200 → , then 3" in told
    assert "Reason: It was rude." in told
    assert "In the public log: A team has another name." in told

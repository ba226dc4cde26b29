"""Confidentiality of messages between organizers and a team."""

import pytest

from grader.services.audit.log import Actor
from grader.services.closing import close
from grader.services.competitions import acting, lookup
from grader.services.moderation import decisions
from grader.services.standings import final_standings

TESTS = Actor(None, "tests")


@pytest.fixture
def revealed(scene):
    """The scene with final standings."""
    scene.arena.reveal()
    with scene.arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        close.finalize(session, competition=competition, actor=TESTS)
    return scene


def test_final_standings_show_that_a_team_was_disqualified_but_not_why(revealed):
    with revealed.arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        act = acting.begin(session, competition=competition, actor=TESTS)
        decisions.disqualify(act, team="Bob", reason="Shared his labels.")
        newest = final_standings.page_of(session, competition=competition, number=2)
    assert newest.reason == "Bob was disqualified."
    here = "/competitions/toxicity"
    for role, is_told in (("stranger", False), ("owner", False), ("outsider", True)):
        browser = revealed.browser(role)
        texts = [
            browser.get(f"{here}{path}").text
            for path in ("/leaderboard/final/2", "/leaderboard/private", "/log", "/results")
        ]
        assert any("Shared his labels" in text for text in texts) is is_told, role
    api = revealed.arena.app.test_client()
    assert "Shared" not in api.get("/api/v1/competitions/toxicity/final-standings/2").text

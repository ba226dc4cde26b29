"""Confidentiality of messages between organizers and a team."""

from grader.services.competitions import acting, lookup
from grader.services.site.log import Actor
from grader.services.submissions import decisions

TESTS = Actor(None, "tests")


def test_only_the_team_and_organizers_see_why_a_team_was_disqualified(scene):
    scene.arena.reveal()
    with scene.arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        act = acting.begin(session, competition=competition, actor=TESTS)
        decisions.disqualify(act, team="Bob", reason="Shared his labels.")
    here = "/competitions/toxicity"
    for role, is_told in (("stranger", False), ("owner", False), ("outsider", True)):
        browser = scene.browser(role)
        texts = [browser.get(f"{here}{path}").text for path in ("/leaderboard/private", "/log", "/results")]
        assert any("Shared his labels" in text for text in texts) is is_told, role

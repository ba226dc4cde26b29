"""Invitation links: visitors' view, and equal responses for all invalid links."""

from datetime import timedelta

import pytest

from grader.models import CompetitionState
from grader.services.competitions import lookup
from tests.fixtures.arena import without_form_tokens
from tests.webapp.teams.test_pages import TEAM, link_of


@pytest.fixture
def ann(arena):
    """Ann, who leads the team “Duo”."""
    arena.competition()
    person = arena.person("Ann")
    assert person.post(TEAM, {"name": "Duo"}).status_code == 303
    return person


def test_all_invalid_links_have_the_same_response(arena, ann):
    replaced, revoked = link_of(ann), link_of(ann)
    ann.post(f"{TEAM}/link/revoke-link")
    eve = arena.person("Eve")
    unknown, nowhere = f"{TEAM}/link/guessed", "/competitions/nowhere/team/link/guessed"
    for browser in (arena.app.test_client(), eve.browser):
        seen = set()
        for path in (replaced, revoked, unknown, nowhere):
            answer = browser.get(path)
            text = without_form_tokens(answer.text).replace(path, "PATH")
            seen.add((answer.status_code, text.replace(path.replace("/", "%2F"), "PATH")))
        assert len(seen) == 1 and seen.pop()[0] == 404
    posted = [eve.post(path) for path in (replaced, revoked, unknown, nowhere)]
    assert {answer.status_code for answer in posted} == {404}


@pytest.mark.parametrize("change", ["draft", "late"])
def test_a_link_of_a_draft_or_after_the_merger_deadline_reveals_nothing(arena, ann, change):
    path = link_of(ann)
    stranger = arena.app.test_client()
    assert stranger.get(path).status_code == 200
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        if change == "draft":
            competition.state = CompetitionState.DRAFT
        else:
            competition.merger_deadline = arena.now() - timedelta(minutes=1)
    answer, unknown = stranger.get(path), stranger.get(f"{TEAM}/link/guessed")
    assert answer.status_code == unknown.status_code == 404
    assert "Duo" not in answer.text and "Toxicity" not in answer.text
    assert answer.text.replace(path.rpartition("/")[2], "guessed") == unknown.text

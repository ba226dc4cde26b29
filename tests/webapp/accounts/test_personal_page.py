"""Public profiles: off by default, and indistinguishable from unknown users while off."""

import re
from datetime import timedelta

import pytest

from grader import db
from grader.services.competitions import lookup
from tests.fixtures.arena import without_form_tokens

HERE = "/competitions/toxicity"


@pytest.fixture
def ann(arena):
    """Ann, who has a profile description and a team on a leaderboard."""
    arena.competition()
    person = arena.person("Ann")
    person.post("/account/profile", {"about": "I count pairs."})
    arena.submit(person, arena.truth.predictions(noise=2))
    arena.score_all()
    return person


def turn_on(person) -> str:
    """Turn on a user's public profile and return its path."""
    assert person.post("/account/page", {"page": "on"}).status_code == 302
    found = re.search(r'href="(/people/[0-9a-f]{24})">its address', person.browser.get("/account").text)
    assert found
    return found[1]


def test_the_profile_is_off_by_default_and_only_its_user_sees_the_preview(arena, ann):
    assert "Your public profile is off" in ann.browser.get("/account").text
    preview = ann.browser.get("/account/page").text
    assert "Your public profile is off" in preview and "I count pairs." in preview
    assert arena.app.test_client().get("/account/page").status_code == 302


def test_the_profile_shows_name_text_and_teams_and_ranks_after_the_reveal(arena, ann):
    path = turn_on(ann)
    page = arena.app.test_client().get(path).text
    assert "<bdi>Ann</bdi>" in page and "I count pairs." in page and "Toxicity" in page
    assert "rank after the reveal" in page
    for hours, words in ((1, "closes <time"), (-1, "closed <time")):
        with arena.database.write() as session:
            competition = lookup.get(session, slug="toxicity")
            competition.closes_at = db.now(session) + timedelta(hours=hours)
        assert words in arena.app.test_client().get(path).text
    (team,) = arena.app.test_client().get(f"/api/v1{path}").json["teams"]
    assert (team["competition"], team["rank"]) == ("toxicity", None)
    arena.reveal("toxicity")
    (team,) = arena.app.test_client().get(f"/api/v1{path}").json["teams"]
    assert (team["rank"], team["team_count"]) == (1, 1)
    assert path in arena.app.test_client().get(f"{HERE}/teams/{team['team_id']}").text


def test_a_private_and_an_unknown_profile_have_identical_responses(arena, ann):
    path = turn_on(ann)
    ann.post("/account/page", {"page": "off"})
    assert "Its URL no longer works." in ann.browser.get("/account").text
    other = "/people/" + "0" * 24
    for browser in (arena.app.test_client(), ann.browser):
        private, unknown = browser.get(path), browser.get(other)
        assert private.status_code == unknown.status_code == 404
        texts = [without_form_tokens(each.text).replace(path, other) for each in (private, unknown)]
        assert texts[0] == texts[1]
    told = [arena.app.test_client().get(f"/api/v1{each}") for each in (path, other)]
    assert told[0].data == told[1].data and told[0].status_code == 404
    assert turn_on(ann) != path


def test_the_api_turns_the_profile_on_and_off(arena, ann):
    client = arena.app.test_client()
    assert client.get("/api/v1/me", headers=ann.bearer).json["page"] is None
    told = client.patch("/api/v1/me", json={"has_page": True}, headers=ann.bearer).json
    assert client.get(told["page"].removeprefix("http://localhost")).status_code == 200
    assert client.patch("/api/v1/me", json={"has_page": False}, headers=ann.bearer).json["page"] is None


def test_a_deleted_account_has_no_profile(arena, ann):
    path = turn_on(ann)
    ann.post("/account/delete", {"current_password": "correct horse battery"})
    assert arena.app.test_client().get(path).status_code == 404


def test_the_profile_omits_teams_without_a_leaderboard_entry(arena):
    arena.competition()
    bob = arena.person("Bob")
    bob.post(f"{HERE}/team", {"name": "Unscored"})
    page = arena.app.test_client().get(turn_on(bob)).text
    assert "Unscored" not in page and "is on a leaderboard yet" in page

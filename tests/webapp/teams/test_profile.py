"""Team profile: only data from the leaderboard."""

import pytest

from grader.services.audit.log import Actor
from grader.services.competitions import acting, lookup
from grader.services.moderation import decisions
from grader.services.teams import rosters
from tests.fixtures.arena import without_form_tokens

HERE = "/competitions/toxicity"
API = f"/api/v1{HERE}"


@pytest.fixture
def team_id(arena) -> int:
    """Ann's team, which has two scores, on a leaderboard of two teams."""
    arena.competition()
    ann, bob = arena.person("Ann"), arena.person("Bob")
    ann.post(f"{HERE}/team", {"name": "Duo"})
    for noise in (3, 1):
        arena.submit(ann, arena.truth.predictions(noise=noise))
    arena.submit(bob, arena.truth.predictions(noise=2))
    arena.score_all()
    with arena.database.read() as session:
        competition = lookup.get(session, slug="toxicity")
        return rosters.find_team(session, competition=competition, user=ann.user).id


def test_the_profile_shows_members_rank_score_and_history_of_the_leaderboard(arena, team_id: int):
    stranger = arena.app.test_client()
    page, told = stranger.get(f"{HERE}/teams/{team_id}"), stranger.get(f"{API}/teams/{team_id}").json
    (row,) = (r for r in stranger.get(f"{API}/leaderboard").json["rows"] if r["team"] == "Duo")
    assert page.status_code == 200 and "<bdi>Duo</bdi>" in page.text and "<bdi>Ann</bdi>" in page.text
    assert (told["public"]["rank"], told["public"]["score"]) == (row["rank"], row["score"])
    assert f"{row['score']:.5f}" in page.text
    assert (told["private"], told["team_count"]) == (None, 2)
    assert told["history"][-1]["score"] == row["score"]
    assert [each["name"] for each in told["members"]] == ["Ann"]
    assert "Manage your team" not in page.text


def test_a_member_gets_a_link_to_the_team_page(arena, team_id: int):
    arena.log_in(browser := arena.app.test_client(), "Ann")
    assert f'<a href="{HERE}/team">Manage your team' in browser.get(f"{HERE}/teams/{team_id}").text


def test_the_private_rank_is_shown_after_the_reveal(arena, team_id: int):
    arena.reveal("toxicity")
    page = arena.app.test_client().get(f"{HERE}/teams/{team_id}").text
    assert "Private rank" in page and "Public rank" in page
    assert arena.app.test_client().get(f"{API}/teams/{team_id}").json["private"]["rank"] in (1, 2)


def test_teams_missing_from_the_leaderboards_respond_like_unknown_ones(arena, team_id: int):
    arena.competition("other", title="Other")
    cem = arena.person("Cem")
    cem.post(f"{HERE}/team", {"name": "Unscored"})
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        act = acting.begin(session, competition=competition, actor=Actor(None, "tests"))
        decisions.disqualify(act, team="Duo", reason="Two accounts.")
        unscored = rosters.find_team(session, competition=competition, user=cem.user).id
    stranger = arena.app.test_client()

    def answer(path: str, number: int) -> tuple[int, str]:
        found = stranger.get(f"{path}/teams/{number}")
        return found.status_code, without_form_tokens(found.text).replace(str(number), "N")

    unknown = answer(HERE, 77777)
    assert unknown[0] == 404
    assert answer(HERE, team_id)[0] == answer(HERE, unscored)[0] == 404
    assert stranger.get(f"/competitions/other/teams/{team_id}").status_code == 404
    told = [stranger.get(f"{API}/teams/{number}").json["error"] for number in (77777, team_id, unscored)]
    assert told == ["unranked_team"] * 3

"""Team profile: only data from the leaderboard, its certificate and its share image."""

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from sqlalchemy import select

from grader.models import Team
from grader.services.audit.log import Actor
from grader.services.competitions import acting, lookup
from grader.services.moderation import decisions
from grader.services.teams import rosters
from tests.fixtures.arena import without_form_tokens
from webapp.presentation import formats
from webapp.teams import profile

ROOT = Path(__file__).parents[3]
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


def _certificate(arena, number: int):
    return arena.app.test_client().get(f"{HERE}/teams/{number}/certificate.svg")


def _texts(svg: str) -> list[str]:
    return [text for each in ElementTree.fromstring(svg).iter() if (text := (each.text or "").strip())]


def test_the_certificate_shows_rank_team_and_the_leaderboard_that_proves_it(arena, team_id: int):
    assert _certificate(arena, team_id).status_code == 403
    arena.reveal("toxicity")
    final = _certificate(arena, team_id)
    assert {"Certificate", "Duo", "Ann", "of 2 teams", "Toxicity"} <= {*_texts(final.text)}
    link = next(text for text in _texts(final.text) if text.endswith(f"{HERE}/leaderboard/private"))
    page = arena.app.test_client().get(link[link.index(HERE) :]).text
    rank = arena.app.test_client().get(f"{API}/teams/{team_id}").json["private"]["rank"]
    assert f"{formats.ordinal(rank)}" in _texts(final.text) and "Duo" in page
    assert final.headers["Content-Type"] == "image/svg+xml; charset=utf-8"
    assert final.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    again = arena.app.test_client().get(
        f"{HERE}/teams/{team_id}/certificate.svg", headers={"If-None-Match": final.headers["ETag"]}
    )
    assert again.status_code == 304


def test_a_disqualified_team_has_no_certificate_and_the_others_move_up(arena, team_id: int):
    arena.reveal("toxicity")
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        act = acting.begin(session, competition=competition, actor=Actor(None, "tests"))
        decisions.disqualify(act, team="Duo", reason="Two accounts.")
        other = session.scalar(select(Team.id).where(Team.name == "Bob"))
    assert _certificate(arena, team_id).status_code == 404
    texts = _texts(_certificate(arena, other).text)
    assert {"1st", "of 1 team"} <= {*texts}


HOSTILE = (
    "<script>alert(1)</script>&\"'",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\U0001f3c6\U0001f469\u200d\U0001f4bb" * 20,
    "W" * 100,
    "\u6f22" * 64,
    "a\u0301" * 64,
    "\x01\x1b\ufffe name",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_certificate_and_share_image_survive_hostile_names(arena, team_id: int, name: str):
    arena.reveal("toxicity")
    with arena.database.write() as session:
        session.get_one(Team, team_id).name = name
        lookup.get(session, slug="toxicity").title = name
    svg = _certificate(arena, team_id).text
    picture = ElementTree.fromstring(svg)
    assert {each.tag.rpartition("}")[2] for each in picture.iter()} == {
        *("svg", "title", "rect", "text", "circle", "path")
    }
    assert not any(each.get("style") for each in picture.iter())
    page = arena.app.test_client().get(f"{HERE}/teams/{team_id}").text
    assert "<script>alert" not in page and f"{HERE}/teams/{team_id}/share.png" in page
    image = Image.open(io.BytesIO(arena.app.test_client().get(f"{HERE}/teams/{team_id}/share.png").data))
    assert (image.format, image.size) == ("PNG", (1200, 630))


def test_certificates_have_the_colors_of_competitions():
    tokens = (ROOT / "webapp/static/css/tokens.css").read_text()
    assert re.findall(r"--color-\d: light-dark\((#\w+),", tokens) == [*profile.COLORS]

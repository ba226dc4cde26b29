"""Leaderboards for other sites and tools: embedded page and JSON, final standings as CSV and Croissant."""

import csv
import hashlib
import io
import json
import re

import pytest
from sqlalchemy import select

from grader.models import CompetitionState, Role, Team
from grader.services.audit.log import Actor
from grader.services.closing import close
from grader.services.competitions import lookup
from grader.visibility import Feedback

HERE = "/competitions/toxicity"
FRAME, DATA = f"{HERE}/leaderboard/embed.html", f"{HERE}/leaderboard/embed.json"


def _board(arena, **settings):
    """A competition with two teams, of which Bob's has a name that HTML must escape."""
    arena.competition(embeddable=True, **settings)
    ann, bob = arena.person("Ann"), arena.person("Bob <b>")
    arena.submit(ann, arena.truth.predictions(noise=0.5, seed=1))
    arena.submit(bob, arena.truth.predictions(noise=3.0, seed=2))
    arena.score_all()
    return ann


def _set(arena, **values):
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        for name, value in values.items():
            setattr(competition, name, value)


def _finalize(arena):
    arena.reveal()
    with arena.database.write() as session:
        close.finalize(session, competition=lookup.get(session, slug="toxicity"), actor=Actor(None, "tests"))


def test_any_site_may_frame_the_page_and_read_the_json(arena):
    _board(arena)
    browser = arena.app.test_client()
    page, data = browser.get(FRAME), browser.get(DATA)
    assert "frame-ancestors *" in page.headers["Content-Security-Policy"]
    assert "script-src" not in page.headers["Content-Security-Policy"]
    assert "Access-Control-Allow-Origin" not in page.headers
    assert data.headers["Access-Control-Allow-Origin"] == "*"
    assert data.headers["X-Frame-Options"] == "DENY"
    for answer in (page, data):
        assert answer.headers["Cache-Control"] == "public, max-age=60"
        assert "Cookie" not in answer.headers.get("Vary", "")
        assert "Set-Cookie" not in answer.headers
    assert "X-Frame-Options" not in page.headers
    assert not re.search("<script|<form|<input|<button| style=", page.text)
    assert page.text.count("<a ") == page.text.count('target="_blank" rel="noopener"') == 1
    assert "Bob &lt;b&gt;" in page.text
    assert [row["team"] for row in data.json["rows"]] == ["Ann", "Bob <b>"]
    assert [row["rank"] for row in data.json["rows"]] == [1, 2]
    assert data.json["url"].endswith(f"{HERE}/leaderboard")
    again = browser.get(DATA, headers={"If-None-Match": data.headers["ETag"]})
    assert again.status_code == 304
    assert again.headers["Access-Control-Allow-Origin"] == "*"
    again = browser.get(FRAME, headers={"If-None-Match": page.headers["ETag"]})
    assert (again.status_code, "X-Frame-Options" in again.headers) == (304, False)


def test_organizer_gets_exactly_the_public_view(arena):
    ann = _board(arena, feedback=Feedback.BLIND)
    arena.give_role(ann, Role.OWNER)
    visitor = arena.app.test_client()
    for path in (FRAME, DATA, f"{FRAME}?theme=dark"):
        assert ann.browser.get(path).data == visitor.get(path).data, path
    assert visitor.get(DATA).json["rows"] == []
    assert "<tbody>" not in visitor.get(FRAME).text
    assert ann.browser.get(f"{DATA}?split=private").status_code == 403
    assert visitor.get(DATA).json["rows"] == []


@pytest.mark.parametrize("feedback", Feedback)
def test_private_rows_are_embedded_only_after_the_reveal(arena, feedback: Feedback):
    _board(arena, feedback=feedback, title="Toxic & mild")
    browser = arena.app.test_client()
    for path in (FRAME, DATA):
        refusal = browser.get(f"{path}?split=private")
        assert refusal.status_code == 403
        assert refusal.headers["X-Frame-Options"] == "DENY"
        assert "Access-Control-Allow-Origin" not in refusal.headers
    arena.reveal()
    found = browser.get(f"{DATA}?split=private").json
    board = browser.get(f"{HERE}/leaderboard/private.csv").text
    shown = [(row["rank"], row["team"], row["score"]) for row in found["rows"]]
    rows = list(csv.DictReader(io.StringIO(board)))
    assert shown == [(int(row["rank"]), row["team"], row["score"]) for row in rows]
    assert found["url"].endswith("/leaderboard/private")
    page = browser.get(f"{FRAME}?split=private").text
    assert "Private leaderboard" in page
    assert "Toxic &amp; mild" in page


def test_query_selects_the_rows_and_the_colors(arena):
    _board(arena, divisions="Students\nFirms", boards="Harm = BNSP AUC lowest")
    with arena.database.write() as session:
        session.scalars(select(Team).where(Team.name != "Ann")).one().division = "Firms"
    browser = arena.app.test_client()
    harm = browser.get(f"{DATA}?board=harm").json
    assert [row["team"] for row in harm["rows"]] == ["Bob <b>", "Ann"]
    assert harm["url"].endswith("/leaderboard?board=harm")
    assert "<bdi>Harm</bdi>" in browser.get(f"{FRAME}?board=harm").text
    firms = browser.get(f"{DATA}?division=Firms").json
    assert [(row["rank"], row["team"]) for row in firms["rows"]] == [(1, "Bob <b>")]
    assert firms["url"].endswith("/leaderboard?division=Firms")
    assert "<bdi>Firms</bdi>" in browser.get(f"{FRAME}?division=Firms").text
    assert len(browser.get(f"{DATA}?rows=1").json["rows"]) == 1
    assert browser.get(f"{DATA}?rows=1").json["team_count"] == 2
    assert 'class="only-dark"' in browser.get(f"{FRAME}?theme=dark").text
    assert "only-" not in browser.get(FRAME).text
    for query in ("rows=0", "rows=51", "rows=-1", "rows=x", "split=both", "division=x"):
        answer = browser.get(f"{FRAME}?{query}")
        assert answer.status_code == 400, query
        assert answer.headers["X-Frame-Options"] == "DENY"


def test_leaderboard_is_embedded_only_with_the_organizers_consent(arena):
    ann = _board(arena)
    arena.give_role(ann, Role.OWNER)
    page = ann.browser.get(f"{HERE}/organize/settings/basics").text
    assert "&lt;iframe src=&#34;http" in page
    _set(arena, embeddable=False)
    for path in (FRAME, DATA):
        assert ann.browser.get(path).status_code == 404
    assert "iframe" not in ann.browser.get(f"{HERE}/organize/settings/basics").text
    _set(arena, embeddable=True, state=CompetitionState.DRAFT)
    for path in (FRAME, DATA):
        assert ann.browser.get(path).status_code == 404


def test_final_standings_are_described_with_the_checksum_of_their_table(arena):
    _board(arena)
    browser = arena.app.test_client()
    final = f"{HERE}/leaderboard/final/1"
    assert (
        browser.get(f"{final}/standings.csv").status_code
        == browser.get(f"{final}/croissant.json").status_code
        == 404
    )
    _finalize(arena)
    table, found = browser.get(f"{final}/standings.csv"), browser.get(f"{final}/croissant.json")
    assert table.text.splitlines()[0] == "rank,team,score,public_rank"
    assert table.text.splitlines()[1].startswith("1,Ann,1.0")
    assert found.mimetype == "application/ld+json"
    described = json.loads(found.text)
    [file] = described["distribution"]
    assert file["sha256"] == hashlib.sha256(table.data).hexdigest()
    assert file["contentUrl"].endswith(f"{final}/standings.csv")
    [records] = described["recordSet"]
    assert [field["name"] for field in records["field"]] == table.text.splitlines()[0].split(",")
    page = browser.get(final).text
    assert f'<link rel="alternate" type="application/ld+json" href="{final}/croissant.json">' in page

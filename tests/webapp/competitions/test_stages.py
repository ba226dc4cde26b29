"""Stages of a title: next stage, carried teams, header, list, API, Kaggle protocol."""

import io
import re

import pytest

from grader.models import CompetitionState, Role
from grader.services.closing import close as closing
from grader.services.competitions import acting, drafts, lookup
from tests.fixtures.arena import main_text
from tests.fixtures.desk import Desk
from tests.fixtures.service import TESTS

FIRST, SECOND = "toxicity", "toxicity-stage-2"
HERE = "/api/v1/competitions"


@pytest.fixture
def staged(arena):
    """A site with a running competition with three scored teams, and the draft of its next stage."""
    arena.competition(rules="Be fair.")
    olga = arena.person("Olga")
    arena.give_role(olga, Role.OWNER)
    people = {name: arena.person(name) for name in ("Ann", "Bob", "Cleo")}
    for noise, person in enumerate(people.values(), 1):
        joined = {"accepted_rules_version": 1}
        client = arena.app.test_client()
        client.post(f"{HERE}/{FIRST}/join", json=joined, headers=person.bearer)
        arena.submit(person, arena.truth.predictions(noise=float(noise)))
    arena.score_all()
    return arena, olga, people


def stage_links(page):
    found = re.search(r'<nav class="stages".*?</nav>', page, flags=re.DOTALL)
    return re.findall(r">([^<>\n]+)</a>", found[0]) if found else []


def test_a_public_stage_is_followed_by_a_blind_one_from_the_draft_to_its_reveal(staged):
    arena, olga, people = staged
    desk, pages = Desk(olga), olga.browser
    assert "Create the next stage" in pages.get(f"/competitions/{FIRST}/organize/settings").text
    answer = olga.post(f"/competitions/{FIRST}/organize/state/next-stage", {"stage_name": "Final test"})
    assert answer.location == f"/competitions/{SECOND}/organize/settings"
    at = f"{HERE}/{SECOND}/organize"
    desk("PATCH", f"{at}/settings", json={"feedback": "blind", "entry_mode": "approval"})

    # The draft is invisible to participants.
    ann = people["Ann"]
    for client in (ann.browser, arena.app.test_client()):
        assert SECOND not in client.get("/").text
        page = client.get(f"/competitions/{FIRST}").text
        assert SECOND not in page
        assert stage_links(page) == []
        assert client.get(f"/competitions/{SECOND}").status_code == 404
    assert desk("GET", f"{HERE}/{FIRST}").json["stages"] == []
    assert stage_links(pages.get(f"/competitions/{SECOND}").text) == ["Stage 1", "Final test"]

    sealed = arena.truth.solution().replace(b",1,", b",0,", 20)  # other labels
    check = desk(
        "POST", f"{at}/solution", data={"file": (io.BytesIO(sealed), "solution.csv")}, expect=202
    ).json
    arena.work()
    desk("POST", f"{at}/solution/{check['id']}/accept")
    desk("POST", f"{at}/teams/carry-over", expect=409)
    desk("POST", f"{at}/state/publish")

    # Both stages are linked, and the list shows one card.
    assert stage_links(ann.browser.get(f"/competitions/{FIRST}").text) == ["Stage 1", "Final test"]
    page = ann.browser.get(f"/competitions/{SECOND}")
    assert "Toxicity · Final test" in page.text
    found = desk("GET", f"{HERE}/{FIRST}").json["stages"]
    assert [(each["slug"], each["name"]) for each in found] == [(FIRST, "Stage 1"), (SECOND, "Final test")]
    listed = main_text(ann.browser.get("/"))
    assert "Toxicity · Final test" in listed
    assert listed.count("Toxicity") == 1

    # Only the two best teams of the revealed stage enter.
    refused = desk("POST", f"{at}/teams/carry-over", json={"top": 2}, expect=409).json
    assert refused["error"] == "not_carried"
    arena.reveal(FIRST)
    page = olga.post(f"/competitions/{SECOND}/organize/teams/carry-over", {"top": "2"})
    assert "2 teams carried over." in main_text(page)
    again = desk("POST", f"{at}/teams/carry-over", json={"top": 2}).json
    assert (again["teams"], len(again["skipped"])) == ([], 2)
    assert again["skipped"][0]["reason"] == "already in this stage"

    for name in ("Ann", "Bob"):
        arena.submit(people[name], arena.truth.predictions(noise=2.0, seed=5), slug=SECOND)
    client = arena.app.test_client()
    file = {"file": (io.BytesIO(arena.truth.predictions()), "p.csv")}
    cleo = client.post(f"{HERE}/{SECOND}/submissions", data=file, headers=people["Cleo"].bearer)
    assert (cleo.status_code, cleo.json["error"]) == (403, "not_joined")
    arena.score_all()
    board = client.get(f"{HERE}/{SECOND}/leaderboard", headers=ann.bearer)
    assert "score" not in str(board.json.get("rows", ""))
    arena.reveal(SECOND)
    rows = client.get(f"{HERE}/{SECOND}/leaderboard", query_string={"split": "private"}, headers=ann.bearer)
    assert {row["team"] for row in rows.json["rows"] if row["rank"]} == {"Ann", "Bob"}


def test_the_list_shows_the_running_stage_of_a_title_or_the_next_one(arena):
    def cards() -> list[str]:
        page = arena.app.test_client().get("/").text
        return sorted(re.findall(r'<h3><a href="/competitions/([\w-]+)"', page))

    arena.competition("other", title="Other")
    arena.competition()
    with arena.database.write() as session:
        act = acting.begin(session, competition=lookup.get(session, slug=FIRST), actor=TESTS)
        drafts.next_stage(act)
    assert cards() == ["other", FIRST]
    with arena.database.write() as session:
        draft = lookup.get(session, slug=SECOND)
        draft.state = CompetitionState.PUBLISHED
        draft.opens_at = arena.now().replace(year=2999)
    assert cards() == ["other", FIRST]  # The next stage opens later.
    with arena.database.write() as session:
        closing.close_now(acting.begin(session, competition=lookup.get(session, slug=FIRST), actor=TESTS))
    assert cards() == ["other", SECOND]

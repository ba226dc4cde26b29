"""A complete competition with `grader.client`, from creation to export."""

import zipfile
from datetime import UTC, datetime, timedelta
from io import BytesIO

import pandas as pd
import pytest

from grader import db
from grader.services.closing import close
from grader.services.competitions import lookup
from grader.services.identity import administrators, api_tokens
from grader.services.identity.api_tokens import Scope
from grader.services.site.log import Actor
from tests.fixtures import crowds
from tests.fixtures.databases import set_clock

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
CLASS = 60  # two pages of each list


@pytest.fixture
def clock(monkeypatch):
    """The site's time, which only the test advances."""
    times = [datetime(2030, 1, 1, tzinfo=UTC)]
    set_clock(monkeypatch, lambda: times[-1])
    return times


@pytest.fixture
def olga(service, live_site, monkeypatch):
    """An administrator's token for a site that runs organizers' jobs."""
    monkeypatch.setattr("grader.client.transport.LONGEST_POLL_SECONDS", 0.05)
    live_site.work_for_organizers()
    with service.database.write() as session:
        user = session.merge(service.user("olga"))
        administrators.change(session, user=user, is_admin=True, actor=Actor.shell(), now=db.now(session))
        act = {"name": "desk", "scopes": tuple(Scope), "now": db.now(session)}
        return api_tokens.create(session, user=user, **act)[1]


def test_whole_competition_needs_only_the_client(
    clock, olga, service, live_site, solution_csv, predictions_csv, tmp_path
):
    (tmp_path / "solution.csv").write_bytes(solution_csv())
    (tmp_path / "train.csv").write_bytes(b"id,text\n1,hello\n")
    with live_site.client_of(olga) as client:
        client.call("POST", "competitions", {"slug": "hate", "title": "Hate"})
        desk = client.organize("hate", confirm=True)
        dates = {"opens_at": "2030-01-01T00:00:00Z", "closes_at": "2030-02-01T00:00:00Z"}
        desk.call("PATCH", "settings", {"contact": "a@b.org", **dates})
        checked = desk.check_solution(tmp_path / "solution.csv")
        desk.call("POST", f"solution/{checked['job']['id']}/accept")
        desk.call("POST", "data", {"file": tmp_path / "train.csv"})
        assert [file["state"] for file in desk.ended("data")["files"]] == ["passed"]
        assert desk.call("POST", "state/publish")["state"] == "published"
        for place, name in enumerate(["ann", "bob", "cem", "dan", "eve"]):
            with live_site.client(name, competition="hate") as team:
                table = pd.read_csv(BytesIO(predictions_csv(seed=place, skill=place / 9)))
                assert team.wait(team.submit(table.set_index("id"))).status == "scored"
        head, row, *others = solution_csv().decode().splitlines()
        row_id, label, *rest = row.split(",")
        lines = [head, ",".join([row_id, str(1 - int(label)), *rest]), *others]
        (tmp_path / "corrected.csv").write_text("\n".join(lines))
        check = desk.check_solution(tmp_path / "corrected.csv")
        version = desk.call(
            "POST", "rescoring", {"solution": check["job"]["id"], "reason": "One label was wrong."}
        )
        desk.rescored(version["number"])
        assert desk.call("GET", f"rescoring/{version['number']}/difference")["unfinished"] == 0
        assert client.leaderboard("hate").scoring_version == 1
        desk.call("POST", f"rescoring/{version['number']}/publish", {"notice": "One label was wrong."})
        assert client.leaderboard("hate").scoring_version == 2
        clock.append(clock[0] + timedelta(days=32))
        with service.database.write() as session:
            close.settle(session, competition=lookup.get(session, slug="hate"))
        assert desk.call("POST", "close/reveal")["stage"] == "revealed"
        packed = client.ask("GET", "competitions/hate/organize/exports/results.zip").content
        assert client.leaderboard("hate", split="private").team_count == 5
    assert any(name.endswith("standings.csv") for name in zipfile.ZipFile(BytesIO(packed)).namelist())


def test_table_is_submitted_scored_and_shown_on_the_leaderboard(service, live_site, predictions_csv):
    service.competition(max_daily_submissions=5)
    with live_site.client() as client:
        sent = client.submit(pd.read_csv(BytesIO(predictions_csv(skill=0.3))), description="from a table")
        assert (sent.status, sent.limits.left_today) == ("pending", 4)
        scored = client.wait(sent)
        assert (scored.status, scored.description, scored.file_name) == (
            "scored",
            "from a table",
            "predictions.csv",
        )
        assert scored.weakest_term in scored.terms
        assert set(scored.to_frame()["name"]) == {"female", "muslim"}
        board = client.leaderboard()
        assert [(row.rank, row.team, row.score) for row in board.rows] == [(1, "ada", scored.public_score)]
        table = board.to_frame()
        assert table.loc[0, "overall_auc"] == scored.terms["overall_auc"]
        assert [each.id for each in client.submissions().submissions] == [sent.id]


def test_every_list_and_file_of_a_class_of_60_is_complete(olga, service, live_site):
    competition = service.competition()
    lines = ["name,id,e-mail", *(f"Student {each},{each},s{each}@example.org" for each in range(CLASS))]
    with service.database.write() as session:
        here, now = session.merge(competition), service.now
        crowds.fill(session, competition=here, teams=CLASS, files=CLASS, start=now - timedelta(9), end=now)
    with live_site.client_of(olga) as client:
        desk = client.organize("toxicity", confirm=True)
        desk.call("POST", "students", {"students": lines})
        place = "competitions/toxicity/organize"
        for path in ("teams", "submissions"):
            assert sum(len(page[path]) for page in client.pages_of(f"{place}/{path}")) == CLASS, path
        for kind in ("submissions", "standings", "grades"):
            assert len(client.ask("GET", f"{place}/exports/{kind}.csv").text.splitlines()) == CLASS + 1, kind

"""Complete competition over HTTP with tokens, from the draft to the results bundle."""

import io
import runpy
import time
import zipfile
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.fixtures.databases import set_clock
from tests.fixtures.desk import API, Desk

HERE = f"{API}/competitions/toxic"
DESK = f"{HERE}/organize"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "run_competition.py"
TEAMS = ("Ann", "Bob", "Cem", "Dora", "Eve")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch):
    """The current time, which only the test changes."""
    times = [datetime(2030, 1, 1, tzinfo=UTC)]
    set_clock(monkeypatch, lambda: times[-1])
    return times


def test_a_competition_is_created_run_rescored_closed_and_bundled_over_http(arena, clock):
    olga = Desk(arena.person("Olga", is_admin=True))
    _publish(olga)
    for number, desk in enumerate([Desk(arena.person(name)) for name in TEAMS]):
        desk("POST", f"{HERE}/join", json={})
        file = arena.truth.predictions(noise=1 + number, seed=number)
        desk("POST", f"{HERE}/submissions", data=file, content_type="text/csv", expect=201)
    olga.work()
    _rescore(olga)
    clock.append(datetime(2030, 2, 1, tzinfo=UTC) + timedelta(hours=1))
    olga.work()
    _close(olga)
    bundle = olga("POST", f"{DESK}/close/bundle", json={"with_solution": False}, expect=202).json["url"]
    assert olga("GET", bundle).json["url"] is None
    olga.work()
    packed = olga("GET", olga("GET", bundle).json["url"]).data
    names = zipfile.ZipFile(io.BytesIO(packed)).namelist()
    assert any(name.endswith("private.csv") for name in names), names


def _publish(olga: Desk):
    olga("POST", f"{API}/competitions", json={"slug": "toxic", "title": "Toxic"}, expect=201)
    settings = {"opens_at": "2030-01-01T00:00:00Z", "closes_at": "2030-02-01T00:00:00Z"}
    olga("PATCH", f"{DESK}/settings", json=settings)
    _accept_solution(olga, olga.arena.truth.solution())
    olga("POST", f"{DESK}/data?file_name=train.csv", data=b"id,text\n1,hi\n", expect=201)
    olga.work()
    olga("POST", f"{DESK}/state/publish")


def _accept_solution(olga: Desk, csv: bytes):
    check = olga("POST", f"{DESK}/solution", data=csv, content_type="text/csv", expect=202).json["url"]
    olga.work()
    assert olga("GET", check).json["why_not"] is None
    olga("POST", f"{check}/accept")


def _rescore(olga: Desk):
    lines = olga.arena.truth.solution().decode().splitlines()
    row_id, label, *others = lines[1].split(",")
    corrected = "\n".join([lines[0], ",".join([row_id, str(1 - int(label)), *others]), *lines[2:]])
    sent = {"data": corrected.encode(), "content_type": "text/csv"}
    check = olga("POST", f"{DESK}/solution", expect=202, **sent).json
    olga.work()
    found = olga("GET", check["url"]).json
    assert (found["purpose"], found["why_not"]) == ("corrected", None)
    assert row_id in olga("GET", f"{check['url']}/changes.csv").text
    begun = olga(
        "POST",
        f"{DESK}/rescoring",
        json={"solution": check["id"], "reason": "A label was wrong."},
        expect=202,
    ).json
    early = olga("POST", f"{begun['url']}/publish", json={}, expect=409).json
    assert early["error"] == "rescoring_incomplete"
    olga.work()
    progress = olga("GET", begun["url"]).json["progress"]
    assert (progress["is_final"], progress["unfinished"]) == (True, 0)
    difference = olga("GET", f"{begun['url']}/difference").json
    assert (difference["before"], difference["after"], difference["is_complete"]) == (1, 2, True)
    assert difference["public"]["team_count"] == len(TEAMS)
    for table in difference["tables"].values():
        assert olga("GET", table).text
    live = olga("POST", f"{begun['url']}/publish", json={"notice": "One label was wrong."}).json
    assert live["state"] == "live"
    back = olga("POST", f"{DESK}/rescoring/1/rollback", json={"reason": "It was right."}).json
    assert back["state"] == "live"
    olga("POST", f"{DESK}/rescoring/2/rollback", json={"reason": "It was wrong."})
    states = [each["state"] for each in olga("GET", f"{DESK}/rescoring").json["versions"]]
    assert states == ["live", "retired"]


def _close(olga: Desk):
    assert olga("GET", f"{DESK}/close").json["stage"] == "settled"
    early = olga("POST", f"{DESK}/close/reveal", expect=409).json
    assert (early["error"], early["questions"][0]["heading"]) == (
        "unconfirmed",
        "Reveal without verification?",
    )
    assert "`confirm`" in olga("POST", f"{DESK}/close/reveal", json={"confirm": False}, expect=400).text
    olga("POST", f"{DESK}/close/verify", expect=202)
    assert not olga("GET", f"{DESK}/close").json["is_final"]
    olga.work()
    state = olga("GET", f"{DESK}/close").json
    assert (state["agrees"], state["missing"], state["verified"]["differences"]) == (True, [], [])
    assert olga("POST", f"{DESK}/close/reveal").json["stage"] == "provisional"
    final = olga("POST", f"{DESK}/close/finalize", json={"reason": "Done."}).json
    assert (final["stage"], final["final_number"]) == ("final", 1)
    olga("POST", f"{DESK}/close/solution")


def test_the_example_of_the_documentation_runs_a_competition(arena, clock, tmp_path, monkeypatch):
    """Run the workers while the script sleeps; close the competition after the rescoring."""
    olga = Desk(arena.person("Olga", is_admin=True))
    solution = arena.truth.solution()
    first = solution.splitlines()[1]
    row_id, label, others = first.split(b",", 2)
    corrected = b",".join([row_id, b"%d" % (1 - int(label)), others])
    (tmp_path / "solution.csv").write_bytes(solution)
    (tmp_path / "corrected.csv").write_bytes(solution.replace(first, corrected, 1))
    (tmp_path / "train.csv").write_bytes(b"id,text\n1,hi\n")
    ann, client = Desk(arena.person("Ann")), arena.app.test_client()
    sent: list[int] = []

    def sleep(_: float):
        olga.work()
        if not sent and client.get(HERE, headers=ann.person.bearer).status_code == 200:
            sent.append(arena.submit(ann.person, arena.truth.predictions(), slug="toxic"))
        if sent and olga("GET", f"{DESK}/rescoring").json["versions"][0]["number"] == 2:
            clock.append(datetime(2030, 2, 2, tzinfo=UTC))

    http = partial(httpx.Client, transport=httpx.WSGITransport(arena.app))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRBOARD_SERVER", "http://localhost")
    monkeypatch.setenv("FAIRBOARD_TOKEN", olga.person.token)
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(httpx, "Client", http)
    runpy.run_path(str(EXAMPLE))
    [bundle] = tmp_path.glob("*.zip")
    assert any(name.endswith("private.csv") for name in zipfile.ZipFile(bundle).namelist())

"""Fair play (page and API): analysis by a worker, access only for organizers."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, OrganizerJobKind, Role
from grader.services.competitions import lookup
from grader.services.jobs import organizer_jobs

HERE = "/competitions/toxicity"
PAGE = f"{HERE}/organize/fair-play"
API = f"/api/v1{PAGE}"
HONEST = ("Ann", "Bob", "Cem", "Dan")


def changed(file: bytes, change: Callable[[int, float], float]) -> bytes:
    """Return a file with new predictions, computed from each row's position and old prediction."""
    head, *lines = file.decode().split()
    rows = [line.split(",") for line in lines]
    told = [f"{row_id},{change(place, float(value))!r}" for place, (row_id, value) in enumerate(rows)]
    return "\n".join([head, *told]).encode()


def raised(file: bytes, places: set[int]) -> bytes:
    """Return a file with the predictions of some rows raised to the top."""
    return changed(file, lambda place, value: value + 9 * (place in places))


@pytest.fixture
def scene(make_arena: Callable[..., Any]):
    """Four honest teams, a team with a copy of Ann's file, a probing team, and an editor."""
    arena = make_arena()
    arena.competition()
    arena.ed = arena.person("Ed")
    arena.people = {name: arena.person(name) for name in (*HONEST, "Mal", "Copy")}
    arena.give_role(arena.ed, Role.EDITOR)
    files = [arena.truth.predictions(noise=2, seed=seed) for seed in range(5)]
    for name, file in zip((*HONEST, "Mal"), files, strict=True):
        arena.submit(arena.people[name], file)
    arena.submit(arena.people["Copy"], changed(files[0], lambda _, value: value**3 / 40))
    for number in range(5):
        places = set(random.Random(number).sample(range(len(arena.truth.rows)), 3))
        arena.submit(arena.people["Mal"], raised(files[4], places))
    arena.score_all()
    return arena


def scan(scene) -> str:
    assert scene.ed.post(PAGE).status_code == 303
    scene.work()
    page: str = scene.ed.browser.get(PAGE).text
    return page


def named_in(scene, text: str) -> list[str]:
    return [name for name in scene.people if f"<bdi>{name}</bdi>" in text]


def test_only_the_probing_team_and_the_copy_are_listed_with_evidence(scene):
    assert "have not been analyzed" in scene.ed.browser.get(PAGE).text
    probing, alike = scan(scene).split('id="probing"')[1].split('id="alike"')
    assert "Only 3 rows of 400 moved since #" in probing
    assert named_in(scene, probing) == ["Mal"]
    assert "the same order, although their values may differ" in alike
    assert named_in(scene, alike) == ["Ann", "Copy"]


def test_a_running_scan_is_shown_and_not_started_twice(scene):
    scene.ed.post(PAGE)
    assert "data-live" in scene.ed.browser.get(PAGE).text
    assert not scene.ed.browser.get(f"{PAGE}/status").json["is_final"]
    scene.ed.post(PAGE)
    with scene.database.read() as session:
        competition = lookup.get(session, slug="toxicity")
        kind = OrganizerJobKind.FAIR_PLAY
        assert len(organizer_jobs.newest(session, competition=competition, kind=kind, limit=9)) == 1
    scene.work()
    assert scene.ed.browser.get(f"{PAGE}/status").json["is_final"]


def test_a_marked_row_records_its_reason_in_the_audit(scene):
    scan(scene)
    line = f"team {scene.app.test_client().get(API, headers=scene.ed.bearer).json['teams'][0]['team_id']}"
    assert scene.ed.post(f"{PAGE}/marks", {"line": line, "reason": " "}).status_code == 409
    assert scene.ed.post(f"{PAGE}/marks", {"line": "team 999", "reason": "No."}).status_code == 404
    reasons = ["They correct by hand.", "They showed us how."]
    for reason in reasons:
        assert scene.ed.post(f"{PAGE}/marks", {"line": line, "reason": reason}).status_code == 303
    for page in (scene.ed.browser.get(PAGE).text, scan(scene)):
        assert reasons[1] in page and reasons[0] not in page
    with scene.database.read() as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.action == "fair_play.mark")).all()
    assert [(entry.subject, entry.reason) for entry in entries] == [(line, reason) for reason in reasons]
    assert not any(entry.is_public for entry in entries)


def test_the_api_matches_the_page(scene):
    client, bearer = scene.app.test_client(), scene.ed.bearer
    empty = client.get(API, headers=bearer).json
    assert (empty["job"], empty["teams"], empty["pairs"]) == (None, [], [])
    assert client.post(API, headers=bearer).status_code == 202
    scene.work()
    found = client.get(API, headers=bearer).json
    assert [team["team"] for team in found["teams"]] == ["Mal"]
    assert found["teams"][0]["sign_count"] == 5
    assert all(file["signs"] == ["few_moved"] for file in found["teams"][0]["files"])
    [pair] = found["pairs"]
    assert (pair["one"]["team"], pair["other"]["team"]) == ("Ann", "Copy")
    assert pair["has_same_order"] and not pair["has_same_bytes"] and not pair["known_ids"]
    mark = {"line": pair["line"], "reason": "One person, two accounts."}
    marked = client.post(f"{API}/marks", headers=bearer, json=mark).json
    assert marked["pairs"][0]["mark"]["reason"] == mark["reason"]


def test_files_near_a_benchmark_are_listed_separately(scene):
    near = changed(scene.truth.predictions(noise=2, seed=0), lambda _, value: value + 1)
    benchmark = scene.submit(scene.people["Bob"], near)
    scene.score_all()
    marked = scene.ed.post(f"{HERE}/organize/submissions/{benchmark}/kind", {"kind": "benchmark"})
    assert marked.status_code == 303
    alike, known = scan(scene).split('id="near-benchmarks"')
    assert f"The two files are close to #{benchmark}" in known
    assert named_in(scene, known) == ["Ann", "Copy"]
    assert named_in(scene, alike.split('id="alike"')[1]) == []


def test_participants_cannot_see_fair_play_results(scene):
    scan(scene)
    for person in (scene.people["Mal"], scene.people["Ann"]):
        assert PAGE not in person.browser.get(f"{HERE}/leaderboard").text
        for path in (PAGE, f"{PAGE}/status"):
            assert person.browser.get(path).status_code == 403
        assert scene.app.test_client().get(API, headers=person.bearer).status_code == 403
    assert "fair play" not in scene.people["Ann"].browser.get(f"{HERE}/log").text.casefold()

"""Webhook API, waiting for results."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from grader import db
from grader.models import Role, Webhook
from grader.services.accounts import api_tokens
from grader.services.accounts.api_tokens import Scope
from tests.fixtures.desk import open_confirmed
from webapp.http import long_polling as waiting
from webapp.server import requests

HERE = "/api/v1/competitions/toxicity"
TEAM, DESK = f"{HERE}/team/webhooks", f"{HERE}/webhooks"
WANTED = {"url": "https://board.example/hook", "events": ["rank.changed"]}


@pytest.fixture
def ann(make_arena, database_url: str):
    """Ann, whose team has a pending submission."""
    arena = make_arena(database_url=database_url)
    arena.competition()
    ann = arena.person("Ann")
    arena.submit(ann, arena.truth.predictions())
    return ann


@pytest.fixture
def waits(ann):
    """The site's limits on waiting requests, with the same duration as in production."""
    waits = ann.arena.app.extensions["fairboard"].waits
    waits.longest_seconds = waiting.LONGEST_SECONDS
    yield waits
    requests.begun.clear()


def call(person, method: str, path: str, headers: dict[str, str] | None = None, **sent):
    client = person.arena.app.test_client()
    return open_confirmed(client, path, method=method, headers={**person.bearer, **(headers or {})}, **sent)


def organizing(arena, name: str, role: Role) -> tuple[Any, dict[str, str]]:
    """Return a new organizer, and headers with a token that has the scope `organize`."""
    person = arena.person(name)
    arena.give_role(person, role)
    with arena.database.write() as session:
        _, text = api_tokens.create(
            session, user=person.user, name="o", scopes=[Scope.ORGANIZE], now=db.now(session)
        )
    return person, {"Authorization": f"Bearer {text}"}


def test_a_webhook_is_created_changed_tested_and_deleted(ann):
    made = call(ann, "POST", TEAM, json=WANTED)
    assert made.status_code == 201
    assert made.json["secret"].startswith("whsec_")
    assert made.json["url"] == "https://board.example/…"
    path = f"{TEAM}/{made.json['id']}"
    assert "secret" not in call(ann, "GET", path).json
    changed = call(ann, "PATCH", path, json={"format": "slack"}).json
    assert (changed["format"], changed["events"]) == ("slack", ["rank.changed"])
    with ann.arena.database.read() as session:
        assert session.get_one(Webhook, 1).url == WANTED["url"]
    rotated = call(ann, "POST", f"{path}/secret")
    assert (rotated.status_code, rotated.json["secret"] == made.json["secret"]) == (201, False)
    assert call(ann, "POST", f"{path}/test").status_code == 202
    assert call(ann, "GET", f"{path}/deliveries").json == {"deliveries": [], "next": None}
    assert call(ann, "PATCH", path, json={"is_on": False}).json["state"] == "switched off"
    assert call(ann, "POST", f"{path}/test").json["error"] == "invalid_webhook"
    assert [each["id"] for each in call(ann, "GET", TEAM).json["webhooks"]] == [1]
    assert call(ann, "DELETE", path).status_code == 204
    assert call(ann, "GET", path).json["error"] == "unknown_webhook"


def test_a_repeated_request_creates_one_webhook_and_shows_its_secret_once(ann):
    key = {"Idempotency-Key": "k1"}
    first, second = (call(ann, "POST", TEAM, key, json=WANTED) for _ in range(2))
    assert first.status_code == 201
    assert "secret" not in (second.json or {})
    assert len(call(ann, "GET", TEAM).json["webhooks"]) == 1


def test_an_invalid_webhook_is_rejected_with_a_specific_error(ann):
    for wrong, name in (
        ({"url": "http://board.example/"}, "invalid_webhook_url"),
        ({"events": ["everything"]}, "invalid_webhook"),
        ({"format": "xml"}, "invalid_webhook"),
        ({"events": 1}, "unreadable"),
    ):
        answer = call(ann, "POST", TEAM, json=WANTED | wrong)
        assert (answer.status_code, answer.json["error"]) == (400, name)


def test_organizers_manage_their_webhooks_with_the_organize_scope(ann):
    with ann.arena.database.write() as session:
        _, text = api_tokens.create(
            session, user=ann.user, name="s", scopes=[Scope.READ, Scope.SUBMIT], now=db.now(session)
        )
    submitting = {"Authorization": f"Bearer {text}"}
    assert call(ann, "GET", DESK, submitting).json["error"] == "scope_missing"
    assert call(ann, "GET", DESK).json["error"] == "not_organizer"
    eva, bearer = organizing(ann.arena, "Eva", Role.EDITOR)
    assert call(eva, "POST", DESK, bearer, json=WANTED).status_code == 201
    vera, viewing = organizing(ann.arena, "Vera", Role.VIEWER)
    assert len(call(vera, "GET", DESK, viewing).json["webhooks"]) == 1
    assert call(vera, "PATCH", f"{DESK}/1", viewing, json={"is_on": False}).json["error"] == "not_organizer"
    assert call(ann, "GET", f"{TEAM}/1").status_code == 404


def test_a_finished_submission_returns_immediately(ann, waits):
    ann.arena.score_all()
    assert call(ann, "GET", "/api/v1/submissions/1?wait=60").json["status"] == "scored"


def test_a_waiting_request_polls_often_at_first_and_twice_a_second_later(waits, monkeypatch):
    clock, pauses = [0.0], []

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        clock[0] += seconds
        return False

    monkeypatch.setattr(waiting, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(waiting, "requests", SimpleNamespace(begun=SimpleNamespace(wait=pause)))
    waits.until_finished(1, seconds=20)
    assert sum(pauses) == pytest.approx(20)
    assert pauses[:8] == [waiting.FIRST_LOOK_SECONDS] * 8
    assert pauses[8:-1] == sorted(pauses[8:-1])
    assert max(pauses) == waiting.LOOK_SECONDS
    assert len(pauses) < 80


@pytest.mark.both_databases
def test_a_waiting_request_returns_as_soon_as_the_result_is_available(ann, waits):
    answers: list[Any] = []
    thread = threading.Thread(
        target=lambda: answers.append(call(ann, "GET", "/api/v1/submissions/1?wait=9999"))
    )
    thread.start()
    ann.arena.score_all()
    thread.join()
    assert answers[0].json["status"] == "scored"
    assert answers[0].json["public_score"] is not None
    assert "Retry-After" not in answers[0].headers


def test_a_wait_that_times_out_returns_the_pending_submission(ann, waits):
    waits.longest_seconds = 0
    answer = call(ann, "GET", "/api/v1/submissions/1?wait=60")
    assert (answer.status_code, answer.json["status"]) == (200, "pending")


def test_without_a_free_slot_responses_are_immediate_with_a_growing_retry_after(ann, waits):
    taken = [user_id for user_id in range(100, 200) if waits.take(user_id)]
    assert len(taken) == 4  # a quarter of the 16 threads
    seconds = []
    for _ in range(30):
        answer = call(ann, "GET", "/api/v1/submissions/1?wait=60")
        assert (answer.status_code, answer.json["status"]) == (200, "pending")
        seconds.append(int(answer.headers["Retry-After"]))
    assert seconds == sorted(seconds) and seconds[0] < seconds[-1]
    for user_id in taken:
        waits.give_back(user_id)
    assert waits.take(1)


def test_one_user_cannot_occupy_all_slots(waits):
    assert [waits.take(1) for _ in range(3)] == [True, True, False]
    assert waits.take(2)


def test_a_server_with_few_threads_has_no_waiting_requests(waits):
    assert not waiting.Waits(waits._database, threads=3).take(1)


def test_a_server_that_shuts_down_accepts_no_waiting_requests(ann, waits):
    answers: list[Any] = []
    thread = threading.Thread(
        target=lambda: answers.append(call(ann, "GET", "/api/v1/submissions/1?wait=60"))
    )
    thread.start()
    requests.begun.set()
    thread.join()
    assert answers[0].json["status"] == "pending"

"""Webhook pages for teams and organizers."""

import re

import pytest

from grader import db
from grader.models import AuditEntry, Role, Webhook
from grader.services import webhook_outbox as outbox
from grader.services.webhook_outbox import Event
from grader.services.webhooks.subscriptions import MOST_OF_TEAM

TEAM, DESK = "/competitions/toxicity/team/webhooks", "/competitions/toxicity/organize/webhooks"
ENTERED = {"url": "https://board.example/hook/secret", "events": ["rank.changed"], "format": "json"}


@pytest.fixture
def ann(arena):
    """A member of a team."""
    arena.competition()
    person = arena.person("Ann")
    arena.submit(person, arena.truth.predictions())
    return person


@pytest.fixture
def eva(arena, ann):
    """An editor of the competition."""
    person = arena.person("Eva")
    arena.give_role(person, Role.EDITOR)
    return person


def secret_in(page: str) -> str | None:
    found = re.search(r"whsec_[\w-]+", page)
    return found[0] if found else None


def test_a_member_adds_a_webhook_and_sees_its_secret_once(arena, ann):
    made = ann.post(TEAM, ENTERED)
    assert made.status_code == 201
    secret = secret_in(made.text)
    with arena.database.read() as session:
        assert session.get_one(Webhook, 1).secret == secret
    for page in (TEAM, f"{TEAM}/1"):
        shown = ann.browser.get(page).text
        assert "https://board.example/…" in shown
        assert secret_in(shown) is None and "hook/secret" not in shown


def test_a_new_secret_requires_confirmation_and_is_shown_once(arena, ann):
    first = secret_in(ann.post(TEAM, ENTERED).text)
    assert "stops working immediately" in ann.post(f"{TEAM}/1/rotate").text
    second = secret_in(ann.confirm(f"{TEAM}/1/rotate").text)
    assert second is not None and second != first


def test_changing_a_webhook_with_an_empty_url_keeps_its_url(arena, ann):
    ann.post(TEAM, ENTERED)
    changed = ann.post(f"{TEAM}/1/change", {"url": "", "events": ["test"], "format": "slack"})
    assert (changed.status_code, "is unknown. Use one of" in changed.text) == (400, True)
    ann.post(f"{TEAM}/1/change", {"url": "", "events": ["deadline.near"], "format": "slack"})
    with arena.database.read() as session:
        webhook = session.get_one(Webhook, 1)
    assert (webhook.url, webhook.events, webhook.format) == (ENTERED["url"], ["deadline.near"], "slack")


def test_the_number_of_webhooks_per_team_is_limited(ann):
    for _ in range(MOST_OF_TEAM):
        assert ann.post(TEAM, ENTERED).status_code == 201
    refused = ann.post(TEAM, ENTERED)
    assert refused.status_code == 409
    assert "You have reached the limit of" in refused.text
    ann.confirm(f"{TEAM}/1/delete")
    assert ann.post(TEAM, ENTERED).status_code == 201


def test_five_test_events_can_be_sent_per_minute(arena, ann):
    ann.post(TEAM, ENTERED)
    for _ in range(5):
        assert ann.post(f"{TEAM}/1/test").status_code == 303
    refused = ann.post(f"{TEAM}/1/test")
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0


def test_the_log_shows_status_time_and_attempt(arena, ann):
    ann.post(TEAM, ENTERED)
    with arena.database.write() as session:
        now = db.now(session)
        outbox.write(session, webhook_ids=[1, 1], event=Event.TEST, now=now)
        for status in (503, None):
            claimed = outbox.claim(session, now=now)
            assert claimed is not None
            duration = None if status is None else 1234
            outbox.record_failed(session, claimed=claimed, status=status, duration_ms=duration, now=now)
    page = ann.browser.get(f"{TEAM}/1").text
    assert "503" in page and "1,234 ms" in page and "no response" in page


def test_a_webhook_is_switched_off_and_on_and_deleted(arena, ann):
    ann.post(TEAM, ENTERED)
    ann.post(f"{TEAM}/1/off")
    assert "switched off" in ann.browser.get(TEAM).text
    assert ann.post(f"{TEAM}/1/test").status_code == 400
    ann.post(f"{TEAM}/1/on")
    assert "switched off" not in ann.browser.get(TEAM).text
    assert ann.post(f"{TEAM}/1/delete").status_code == 409
    ann.confirm(f"{TEAM}/1/delete")
    assert "no webhooks yet" in ann.browser.get(TEAM).text
    assert ann.browser.get(f"{TEAM}/1").status_code == 404


def test_a_webhook_of_another_team_is_not_found(arena, ann, eva):
    bob = arena.person("Bob")
    arena.submit(bob, arena.truth.predictions(seed=2))
    ann.post(TEAM, ENTERED)
    eva.post(DESK, ENTERED)
    for person, path in ((bob, f"{TEAM}/1"), (bob, f"{TEAM}/2"), (ann, f"{TEAM}/2"), (eva, f"{DESK}/1")):
        assert person.browser.get(path).status_code == 404
        assert person.post(f"{path}/off").status_code == 404


def test_only_organizers_webhooks_are_audited_and_without_the_url_path(arena, ann, eva):
    ann.post(TEAM, ENTERED)
    eva.post(DESK, ENTERED)
    eva.post(f"{DESK}/2/off")
    eva.confirm(f"{DESK}/2/rotate")
    eva.confirm(f"{DESK}/2/delete")
    with arena.database.read() as session:
        entries = [each for each in session.query(AuditEntry) if each.action.startswith("webhook.")]
    assert [each.action for each in entries] == [
        "webhook.create",
        "webhook.change",
        "webhook.rotate",
        "webhook.delete",
    ]
    assert "hook/secret" not in str([(each.before, each.after) for each in entries])
    audit = eva.browser.get("/competitions/toxicity/organize/audit").text
    assert "generated a new secret for webhook 2" in audit


def test_an_event_of_the_log_is_sent_again_from_its_page_and_by_the_api(arena, ann):
    ann.post(TEAM, ENTERED)
    with arena.database.write() as session:
        now = db.now(session)
        outbox.write(session, webhook_ids=[1], event=Event.RANK_CHANGED, now=now)
        claimed = outbox.claim(session, now=now)
        assert claimed is not None
        outbox.record_delivered(session, claimed=claimed, status=200, duration_ms=1, now=now)
    token = re.search(r'name="delivery" value="(\w+)"', ann.browser.get(f"{TEAM}/1").text)
    assert token is not None
    assert ann.post(f"{TEAM}/1/redeliver", {"delivery": token[1]}).status_code == 303
    path = f"/api/v1{TEAM}/1/deliveries"
    client = arena.app.test_client()
    key = ann.bearer | {"Idempotency-Key": "k"}
    first, repeated = (client.post(f"{path}/{token[1]}/again", headers=key) for _ in range(2))
    assert (first.status_code, repeated.status_code, repeated.data) == (202, 202, first.data)
    assert repeated.headers["Idempotency-Replayed"] == "true"
    unknown = client.post(f"{path}/guessed/again", headers=ann.bearer)
    assert (unknown.status_code, unknown.json["error"]) == (404, "unknown_delivery")
    with arena.database.read() as session:
        assert outbox.something_waits(session, now=db.now(session))
    for _ in range(5):
        again = client.post(f"{path}/{token[1]}/again", headers=ann.bearer)
    assert (again.status_code, again.json["error"]) == (429, "too_many_tests")

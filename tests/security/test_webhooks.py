"""Team webhooks: equal payloads for different hidden solutions."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from grader.models import BodyFormat, Delivery, Webhook
from grader.services.webhook_outbox import Event
from grader.services.webhooks import payloads
from grader.visibility import Feedback
from tests.fixtures.worlds import Truth, World

pytestmark = pytest.mark.system

SITE = "https://board.example"
# Ids are random, and the number of random values drawn depends on the contents of caches.
DELIVERY = re.compile(rb'("delivery": ")[0-9a-f]{32}')
MOMENTS = ("open", "closed", "settled", "revealed")
Sent = dict[tuple[str, int], list[bytes]]
"""The bodies of all events so far, as JSON and for Slack, by phase and webhook."""


def sent(world: World) -> Sent:
    """Return the events that each webhook would receive, in each phase."""
    found: Sent = {}
    world.begin()
    for moment, step in zip(MOMENTS, (None, world.close, world.settle, world.reveal), strict=True):
        if step is not None:
            step()
        for webhook_id in (1, 2):
            found[moment, webhook_id] = [*_bodies(world, webhook_id)]
    return found


def _bodies(world: World, webhook_id: int):
    now = world.clock.time
    with world.arena.database.write() as session:
        for body_format in BodyFormat:
            session.get_one(Webhook, webhook_id).format = body_format
            session.flush()
            query = select(Delivery.id).where(Delivery.webhook_id == webhook_id).order_by(Delivery.id)
            for delivery_id in session.scalars(query).all():
                letter = payloads.letter_of(session, delivery_id=delivery_id, site=SITE, now=now)
                yield DELIVERY.sub(rb"\1", letter.body) if letter else b""


@pytest.fixture(scope="module", params=[pytest.param(Feedback.OPEN, marks=pytest.mark.long), Feedback.SCORE])
def feedback(request: pytest.FixtureRequest) -> Feedback:
    feedback: Feedback = request.param
    return feedback


@pytest.fixture(scope="module")
def first(make_world: Callable[..., World], feedback: Feedback) -> Sent:
    return sent(make_world(Truth.first(), feedback))


@pytest.fixture(scope="module")
def other(make_world: Callable[..., World], feedback: Feedback) -> Sent:
    return sent(make_world(Truth.first().with_other_private_labels(), feedback, correction=8))


def submissions_of(found: list[bytes]) -> list[dict[str, Any]]:
    fields = [json.loads(body) for body in found if body]
    return [each["submission"] for each in fields if "submission" in each]


@pytest.mark.parametrize("moment", MOMENTS[:3])
def test_teams_webhook_events_before_the_reveal_do_not_depend_on_private_labels(
    first: Sent, other: Sent, moment: str
):
    assert first[moment, 1] == other[moment, 1]
    assert submissions_of(first[moment, 1])
    assert {each["private"] for each in submissions_of(first[moment, 1])} == {None}


def test_comparison_detects_a_difference(first: Sent, other: Sent):
    assert first["open", 2] != other["open", 2]  # Organizers see private scores.
    assert first["revealed", 1] != other["revealed", 1]


def test_teams_webhook_receives_only_its_own_submissions(first: Sent):
    assert {each["team"]["name"] for each in submissions_of(first["revealed", 1])} == {"Aces"}
    assert len({each["team"]["name"] for each in submissions_of(first["open", 2])}) > 1


def test_terms_are_sent_according_to_the_feedback_mode(first: Sent, feedback: Feedback):
    scored = [each for each in submissions_of(first["open", 1]) if each["status"] == "scored"]
    assert scored
    for each in scored:
        assert (each["public"]["terms"] is None) == (feedback is Feedback.SCORE)
    assert all(each["public"]["terms"] for each in submissions_of(first["revealed", 1]) if each["public"])


def test_every_event_was_sent(first: Sent):
    fields = [json.loads(body) for body in first["revealed", 2] if body]
    never = {
        Event.TEST,
        Event.RANK_CHANGED,
        Event.RESCORING,
        Event.DEADLINE,
    }  # tested elsewhere
    assert {each["event"] for each in fields if "event" in each} == set(Event) - never

"""Webhook sender with a real receiver."""

import hashlib
import hmac
import os
import signal
import subprocess
import sys
import threading
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update

from grader import db
from grader.models import Delivery, Mail, OffReason, Team, TeamMember, User, Webhook
from grader.services import webhook_outbox as outbox
from grader.services.audit.log import Actor
from grader.services.competitions import acting, announcements
from grader.services.webhook_outbox import LOG_LENGTH, OFF_AFTER, Event
from grader.services.webhooks import subscriptions
from grader.services.webhooks.subscriptions import UnknownDelivery
from grader.worker.process import repeating
from grader.worker.webhook_sender import WebhookSender
from tests.fixtures.patience import HANG_SECONDS, eventually
from tests.fixtures.races import race
from tests.fixtures.receivers import LOOPBACK, Receiver, deliveries, subscribe
from tests.fixtures.services import call


@pytest.fixture
def sender(service, make_settings) -> WebhookSender:
    settings = make_settings(**LOOPBACK, base_url="https://board.example")
    return WebhookSender(settings, service.database, seconds=HANG_SECONDS)


@pytest.fixture
def now(service) -> datetime:
    with service.database.read() as session:
        return db.now(session)


@pytest.fixture
def owner(service) -> User:
    return service.user("olga", is_admin=True)  # type: ignore[no-any-return]


@pytest.fixture
def webhook(service, owner: User, receiver: Receiver, now: datetime) -> Webhook:
    return subscribe(service, service.competition(), owner, receiver.url, now=now)


def tell(service, webhook: Webhook, now: datetime, count: int = 1):
    """Post announcements."""
    for number in range(count):
        with service.database.write() as session:
            call(
                announcements.post,
                session,
                competition=service.reload(webhook.competition),
                title=f"News {number}",
                body="All is well.",
                by_mail=False,
                actor=Actor(None, "tests"),
                now=now,
            )


def be_due(service):
    """Make every waiting delivery due."""
    with service.database.write() as session:
        long_ago = db.now(session) - timedelta(hours=1)
        session.execute(update(Delivery).where(Delivery.ended_at.is_(None)).values(available_at=long_ago))
        session.execute(update(Webhook).values(available_at=long_ago))


def reload(service, webhook: Webhook) -> Webhook:
    with service.database.read() as session:
        return session.get_one(Webhook, webhook.id)


def test_event_arrives_once_with_a_signature(
    service, sender: WebhookSender, receiver: Receiver, webhook: Webhook, now: datetime
):
    tell(service, webhook, now)
    assert sender.send_waiting() == 1
    assert sender.send_waiting() == 0
    (came,) = receiver.received
    assert came.event == came.fields["event"] == "announcement.posted"
    assert came.fields["announcement"]["title"] == "News 0"
    assert came.fields["competition"]["url"] == "https://board.example/competitions/toxicity"
    signed = f"{came.headers['Fairboard-Timestamp']}.".encode() + came.body
    expected = hmac.new(webhook.secret.encode(), signed, hashlib.sha256).hexdigest()
    assert came.headers["Fairboard-Signature"] == f"v1={expected}"
    (row,) = deliveries(service.database)
    assert (row.status, row.attempt_count, row.token) == (200, 1, came.delivery)
    assert row.ended_at is not None and row.duration_ms is not None


def test_redelivered_event_has_a_new_id(
    service, sender: WebhookSender, receiver: Receiver, webhook: Webhook, now: datetime
):
    tell(service, webhook, now)
    sender.send_waiting()
    (first,) = receiver.received
    owner = service.user("ada")
    with service.database.write() as session:
        mine = session.get_one(Webhook, webhook.id)
        act = acting.as_person(session, webhook.competition, owner)
        with pytest.raises(UnknownDelivery):
            subscriptions.redeliver(act, webhook=mine, token="guessed")
        subscriptions.redeliver(act, webhook=mine, token=first.delivery)
    assert sender.send_waiting() == 1
    again = receiver.received[1]
    assert again.fields["announcement"] == first.fields["announcement"]
    assert again.fields["happened_at"] == first.fields["happened_at"]
    assert again.fields["redelivery_of"] == first.delivery != again.delivery


def test_events_of_one_webhook_arrive_in_order(
    service, sender: WebhookSender, receiver: Receiver, webhook: Webhook, now: datetime
):
    tell(service, webhook, now, count=5)
    assert sender.send_waiting() == 5
    titles = [each.fields["announcement"]["title"] for each in receiver.received]
    assert titles == [f"News {number}" for number in range(5)]


def test_failed_event_is_retried_with_growing_pauses_as_the_same_delivery(
    service, sender: WebhookSender, receiver: Receiver, webhook: Webhook, now: datetime
):
    receiver.answers = [500, 404]
    tell(service, webhook, now)
    assert sender.send_waiting() == 1
    (row,) = deliveries(service.database)
    assert (row.status, row.ended_at) == (500, None)
    assert outbox.PAUSES.after(1) <= row.available_at - now < outbox.PAUSES.after(2)
    assert reload(service, webhook).failing_since is not None
    assert sender.send_waiting() == 0  # The pause is not over.
    be_due(service)
    assert sender.send_waiting() == 1
    be_due(service)
    assert sender.send_waiting() == 1
    assert len({each.delivery for each in receiver.received}) == 1
    (row,) = deliveries(service.database)
    assert (row.status, row.attempt_count) == (200, 3)
    assert reload(service, webhook).failing_since is None
    assert outbox.PAUSES.after(99) == outbox.PAUSES.longest


def test_unavailable_receiver_costs_one_attempt_for_all_waiting_events(
    service, sender: WebhookSender, webhook: Webhook, now: datetime
):
    with service.database.write() as session:
        session.get_one(Webhook, webhook.id).url = "http://127.0.0.1:1/"
    tell(service, webhook, now, count=20)
    assert sender.send_waiting() == 1
    assert [row.attempt_count for row in deliveries(service.database)] == [1, *[0] * 19]


def test_log_does_not_reveal_why_a_receiver_was_unreachable(
    service, sender: WebhookSender, webhook: Webhook, now: datetime
):
    for url in ("http://127.0.0.1:1/", "http://10.0.0.1/", "http://nowhere.invalid/"):
        with service.database.write() as session:
            session.get_one(Webhook, webhook.id).url = url
        tell(service, webhook, now)
        be_due(service)
        sender.send_waiting()
    seen = {(row.status, row.duration_ms) for row in deliveries(service.database)}
    assert seen == {(None, None)}


def test_webhook_is_disabled_after_a_day_of_failures_and_its_owner_is_notified(
    service, sender: WebhookSender, receiver: Receiver, webhook: Webhook, owner: User, now: datetime
):
    with service.database.write() as session:
        person = session.get_one(User, owner.id)
        person.email, person.email_verified_at = "olga@example.org", now
    receiver.answers = [500] * 3
    tell(service, webhook, now, count=2)
    sender.send_waiting()
    with service.database.write() as session:
        session.get_one(Webhook, webhook.id).failing_since = now - OFF_AFTER
    be_due(service)
    sender.send_waiting()
    off = reload(service, webhook)
    assert off.off_reason is OffReason.FAILING
    assert [row for row in deliveries(service.database) if row.ended_at is None] == []
    with service.database.read() as session:
        (letter,) = session.scalars(select(Mail))
    assert letter.to_address == "olga@example.org"
    assert "127.0.0.1" in letter.body and "/hook" not in letter.body
    tell(service, webhook, now)
    assert sender.send_waiting() == 0
    with service.database.write() as session:
        act = acting.as_person(session, webhook.competition, owner)
        subscriptions.switch(act, webhook=off, is_on=True)
    receiver.answers = []
    tell(service, webhook, now)
    assert sender.send_waiting() == 1


def test_intermediate_success_prevents_disabling(
    service, sender: WebhookSender, receiver: Receiver, webhook: Webhook, now: datetime
):
    receiver.answers = [500]
    tell(service, webhook, now)
    sender.send_waiting()
    with service.database.write() as session:
        session.get_one(Webhook, webhook.id).failing_since = now - OFF_AFTER
    be_due(service)
    sender.send_waiting()
    assert reload(service, webhook).off_at is None


def test_webhook_of_a_former_member_receives_nothing(
    service, sender: WebhookSender, receiver: Receiver, now: datetime
):
    competition = service.competition()
    service.submit(competition, user="ada")
    ada = service.user("ada")
    with service.database.read() as session:
        team = session.scalars(select(Team)).one()
    webhook = subscribe(service, competition, ada, receiver.url, team=team, now=now)
    with service.database.write() as session:
        session.delete(session.scalars(select(TeamMember)).one())
    tell(service, webhook, now, count=2)
    sender.send_waiting()
    assert receiver.received == []
    assert reload(service, webhook).off_reason is OffReason.OWNER_LEFT
    assert deliveries(service.database) == []


def test_withdrawn_announcement_is_not_sent(
    service, sender: WebhookSender, receiver: Receiver, webhook: Webhook, now: datetime
):
    tell(service, webhook, now)
    with service.database.write() as session:
        call(
            announcements.withdraw,
            session,
            competition=webhook.competition,
            announcement_id=1,
            actor=Actor(None, "t"),
            now=now,
        )
    sender.send_waiting()
    assert receiver.received == []
    assert deliveries(service.database) == []


def test_slack_message_is_one_sentence_without_markup(
    service, sender: WebhookSender, receiver: Receiver, webhook: Webhook, now: datetime
):
    with service.database.write() as session:
        session.get_one(Webhook, webhook.id).format = "slack"
        call(
            announcements.post,
            session,
            competition=webhook.competition,
            title="<!channel> R&D",
            body="x",
            by_mail=False,
            actor=Actor(None, "tests"),
            now=now,
        )
    sender.send_waiting()
    (came,) = receiver.received
    title = webhook.competition.title
    link = "https://board.example/competitions/toxicity"
    assert came.fields == {"text": f"{title}: &lt;!channel&gt; R&amp;D {link}"}


def test_test_event_is_sent_once_before_waiting_events_and_never_counts_as_failure(
    service, sender: WebhookSender, receiver: Receiver, webhook: Webhook, owner: User, now: datetime
):
    receiver.answers = [500, 500]
    tell(service, webhook, now)
    sender.send_waiting()
    with service.database.write() as session:
        session.get_one(Webhook, webhook.id).available_at = now + timedelta(hours=1)
        subscriptions.test(acting.as_person(session, webhook.competition, owner), webhook=webhook)
    assert sender.send_waiting() == 1
    assert receiver.events == ["announcement.posted", "test"]
    assert reload(service, webhook).failure_count == 1


def test_concurrent_senders_send_each_event_once(
    service, make_settings, receiver: Receiver, owner: User, now: datetime
):
    competition = service.competition()
    webhooks = [subscribe(service, competition, owner, receiver.url, now=now) for _ in range(5)]
    tell(service, webhooks[0], now, count=4)
    senders = [
        WebhookSender(make_settings(**LOOPBACK), service.database, seconds=HANG_SECONDS) for _ in range(3)
    ]
    race(*(each.send_waiting for each in senders))
    # Senders skip a webhook that another sender has claimed.
    for each in senders:
        each.send_waiting()
    assert len({each.delivery for each in receiver.received}) == len(receiver.received) == 20


def test_slow_receiver_delays_no_other_receiver(
    service, make_settings, receiver: Receiver, owner: User, now: datetime
):
    competition = service.competition()
    for _ in range(2):
        webhook = subscribe(service, competition, owner, receiver.url, now=now)
    tell(service, webhook, now)
    receiver.is_silent = True
    sender, stop = (
        WebhookSender(make_settings(**LOOPBACK), service.database, seconds=HANG_SECONDS),
        threading.Event(),
    )
    thread = threading.Thread(target=repeating.run, args=(sender.lanes(stop), stop))
    thread.start()
    eventually(lambda: len(receiver.received) == 2, "both requests at once")
    receiver.released.set()
    stop.set()
    thread.join()


def test_sweeper_process_sends_webhooks(
    service, make_settings, receiver: Receiver, webhook: Webhook, now: datetime
):
    tell(service, webhook, now)
    settings = make_settings(**LOOPBACK, sweep_interval_seconds=0.1)
    sweeper = subprocess.Popen(
        [sys.executable, "-m", "grader.cli", "sweeper"], env=os.environ | settings.environment()
    )
    try:
        eventually(lambda: receiver.received, "an event")
    finally:
        sweeper.send_signal(signal.SIGTERM)
        assert sweeper.wait(HANG_SECONDS) == 0


def test_log_is_limited_in_length_and_age(service, webhook: Webhook, now: datetime):
    with service.database.write() as session:
        for _ in range(LOG_LENGTH + 10):
            outbox.write(session, webhook_ids=[webhook.id], event=Event.TEST, now=now)
            claimed = outbox.claim(session, now=now)
            assert claimed is not None
            outbox.record_delivered(session, claimed=claimed, status=200, duration_ms=1, now=now)
    rows = deliveries(service.database)
    assert len(rows) == LOG_LENGTH
    with service.database.write() as session:
        assert [row.id for row in outbox.log_of(session, webhook=webhook)] == [
            row.id for row in reversed(rows)
        ]
        later = now + outbox.KEPT + timedelta(hours=1)
        for moment, count in ((now, 0), (later, LOG_LENGTH)):
            assert len(session.scalars(select(Delivery).where(outbox.is_old(moment))).all()) == count


def test_event_is_discarded_after_more_than_a_day_of_failures(service, webhook: Webhook, now: datetime):
    tell(service, webhook, now)
    with service.database.write() as session:
        assert not outbox.something_waits(session, now=now + outbox.GIVEN_UP_AFTER)
        assert len(session.scalars(select(Delivery).where(outbox.is_old(now + outbox.KEPT))).all()) == 1

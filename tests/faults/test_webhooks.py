"""Killed webhook senders: no lost events, unchanged delivery ids in retries."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from grader import db
from grader.models import Delivery, Webhook
from grader.services import webhook_outbox as outbox
from grader.services.webhook_outbox import Event
from grader.worker.webhook_sender import WebhookSender
from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.receivers import LOOPBACK, Receiver, deliveries, subscribe

SEND = (
    "from grader.settings import load; from grader.db import Database; "
    "from grader.worker.webhook_sender import WebhookSender; settings = load(); "
    "WebhookSender(settings, Database(settings.database())).send_waiting()"
)


@pytest.mark.parametrize(("point", "times"), [("webhook.after_claim", 1), ("webhook.after_send", 2)])
def test_event_of_a_killed_sender_is_sent_by_another_with_the_same_id(
    service, make_settings, processes, receiver: Receiver, point: str, times: int
):
    settings = make_settings(**LOOPBACK)
    with service.database.read() as session:
        now = db.now(session)
    webhook = subscribe(
        service, service.competition(), service.user("olga", is_admin=True), receiver.url, now=now
    )
    with service.database.write() as session:
        outbox.write(session, webhook_ids=[webhook.id], event=Event.TEST, now=now)
    processes.crash(settings, "-c", SEND, at=point)
    (row,) = deliveries(service.database)
    assert (row.ended_at, row.attempt_count) == (None, 1)
    sender = WebhookSender(settings, service.database, seconds=HANG_SECONDS)
    assert sender.send_waiting() == 0  # The killed process still holds the lease.
    with service.database.write() as session:
        for table in (Webhook, Delivery):
            session.execute(update(table).values(available_at=now - timedelta(minutes=1)))
    assert sender.send_waiting() == 1
    assert [each.delivery for each in receiver.received] == [row.token] * times
    (row,) = deliveries(service.database)
    assert (row.ended_at is not None, row.attempt_count) == (True, 2)

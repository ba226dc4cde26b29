"""Delivery of queued webhook events in background lanes of the sweeper process."""

import math
import threading
import time
from collections.abc import Callable
from functools import partial

from grader import db
from grader.crash_points import reach
from grader.db import Database
from grader.models import Delivery, OffReason, Webhook
from grader.services import webhook_outbox as outbox
from grader.services.webhook_outbox import Claimed
from grader.services.webhooks import payloads, subscriptions, timed_events
from grader.services.webhooks.payloads import OwnerLeft, SignedPayload
from grader.settings import Settings
from grader.worker import pinned_connection
from grader.worker.pinned_connection import NoAnswer, Resolve
from grader.worker.process.repeating import Lane, insist

THREADS = 4  # so that a slow receiver blocks only one thread
WAIT_SECONDS = 1.0
RANKS_SECONDS = 20.0
USER_AGENT = "Fairboard-Webhooks/1"


class WebhookSender:
    """Posts events from the outbox; the events of each webhook are sent one at a time."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        *,
        resolve: Resolve = pinned_connection.addresses_of,
        seconds: float = pinned_connection.SECONDS,
    ) -> None:
        self._settings = settings
        self._database = database
        self._resolve, self._seconds = resolve, seconds
        self._networks = settings.webhook_networks()

    def lanes(self, stop: threading.Event, *, is_due: Callable[[], bool] = lambda: True) -> list[Lane]:
        """Return the lanes that send events when `is_due` returns true, and the lane for rank changes."""
        pause = min(WAIT_SECONDS, self._settings.sweep_interval_seconds)
        send = partial(self.send_waiting, stop)
        lanes = [Lane(f"webhooks-{number}", send, pause, is_due=is_due) for number in range(THREADS)]
        return [*lanes, Lane("ranks", self.look_at_ranks, min(RANKS_SECONDS, 10 * pause))]

    def send_waiting(self, stop: threading.Event | None = None) -> int:
        """Send waiting events; return the number of requests."""
        count = 0
        while (stop is None or not stop.is_set()) and (claimed := self._claim()) is not None:
            reach("webhook.after_claim")
            self._send(claimed)
            count += 1
        return count

    def look_at_ranks(self) -> int:
        """Create events for changed ranks; return their number."""
        with self._database.read() as session:
            now = db.now(session)
            looks = timed_events.look_at_ranks(session, now=now)
        if not looks:
            return 0
        with self._database.write() as session:
            return timed_events.tell_ranks(session, looks=looks, now=now)

    def _claim(self) -> Claimed | None:
        with self._database.read() as session:  # an idle sender must not take the write lock
            if not outbox.something_waits(session, now=db.now(session)):
                return None
        with self._database.write() as session:
            return outbox.claim(session, now=db.now(session))

    def _send(self, claimed: Claimed) -> None:
        try:
            letter = self._letter(claimed)
        except OwnerLeft:
            self._end_of_owner(claimed)
            return
        if letter is None:
            with self._database.write() as session:
                outbox.drop(session, claimed=claimed, now=db.now(session))
            return
        start = time.monotonic()
        try:
            status = self._post(letter)
        except NoAnswer:
            # The duration is not recorded because it would reveal details of the operator's network.
            insist(partial(self._record_failed, claimed, None, None), patience_seconds=math.inf)
            return
        reach("webhook.after_send")
        duration_ms = round(1000 * (time.monotonic() - start))
        record = self._record_delivered if 200 <= status < 300 else self._record_failed
        insist(partial(record, claimed, status, duration_ms), patience_seconds=math.inf)

    def _letter(self, claimed: Claimed) -> SignedPayload | None:
        with self._database.read() as session:
            return payloads.letter_of(
                session, delivery_id=claimed.delivery_id, site=self._settings.site(), now=db.now(session)
            )

    def _post(self, letter: SignedPayload) -> int:
        timestamp = int(time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,
            "Fairboard-Event": letter.event,
            "Fairboard-Delivery": letter.token,
            "Fairboard-Timestamp": str(timestamp),
            "Fairboard-Signature": payloads.sign(letter.body, secret=letter.secret, timestamp=timestamp),
        }
        return pinned_connection.post(
            letter.url,
            body=letter.body,
            headers=headers,
            networks=self._networks,
            resolve=self._resolve,
            seconds=self._seconds,
        )

    def _record_delivered(self, claimed: Claimed, status: int, duration_ms: int) -> None:
        with self._database.write() as session:
            outbox.record_delivered(
                session, claimed=claimed, status=status, duration_ms=duration_ms, now=db.now(session)
            )

    def _record_failed(self, claimed: Claimed, status: int | None, duration_ms: int | None) -> None:
        with self._database.write() as session:
            now = db.now(session)
            switched_off = outbox.record_failed(
                session, claimed=claimed, status=status, duration_ms=duration_ms, now=now
            )
            if switched_off is not None:
                subscriptions.tell_owner(session, webhook=switched_off, now=now)

    def _end_of_owner(self, claimed: Claimed) -> None:
        with self._database.write() as session:
            webhook = session.get(Webhook, claimed.webhook_id, with_for_update={"key_share": True})
            delivery = session.get(Delivery, claimed.delivery_id)
            if webhook is not None and delivery is not None:
                outbox.switch_off(session, webhook=webhook, reason=OffReason.OWNER_LEFT, now=db.now(session))

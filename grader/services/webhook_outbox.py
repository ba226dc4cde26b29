"""Webhook event outbox: adding, claims, retries, delivery log.

Events are written in the same transaction as the change that they report. The lease is on the webhook, so its
events are sent one at a time. An undelivered event and a failing webhook each have a growing backoff, so an
unreachable receiver costs only one attempt per backoff period. A webhook that fails for 24 hours is switched
off. A process that has lost its lease records nothing.
"""

import enum
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, insert, or_, select, update
from sqlalchemy.orm import Session, contains_eager

from grader.models import Delivery, OffReason, Team, Webhook
from grader.services.jobs import leased_rows
from grader.services.jobs.leased_rows import Backoff

LEASE = timedelta(seconds=30)  # well above the timeout of a request
PAUSES = Backoff(first=timedelta(seconds=30), longest=timedelta(hours=1))
OFF_AFTER = timedelta(hours=24)
GIVEN_UP_AFTER = timedelta(hours=26)  # longer than OFF_AFTER plus the longest backoff
LOG_LENGTH = 50
KEPT = timedelta(days=7)


class Event(enum.StrEnum):
    """The events that webhooks can receive."""

    SCORED = "submission.scored"
    REJECTED = "submission.rejected"
    RANK_CHANGED = "rank.changed"
    ANNOUNCEMENT = "announcement.posted"
    RESCORING = "rescoring.published"
    DEADLINE = "deadline.near"
    REVEALED = "leaderboard.revealed"
    TEST = "test"
    """Sent only when a user tests a webhook."""


EVENTS = tuple(event for event in Event if event is not Event.TEST)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claimed event with the number of this attempt."""

    delivery_id: int
    webhook_id: int
    attempt: int


def tell(
    session: Session,
    *,
    competition_id: int,
    event: Event,
    now: datetime,
    team_id: int | None = None,
    subject_id: int | None = None,
    details: Mapping[str, Any] | None = None,
) -> int:
    """Write an event for all webhooks that subscribe to it; return their number.

    The event goes to the organizers' webhooks and to those of the team, or of all teams if `team_id` is None.
    """
    query = select(Webhook.id, Webhook.events).where(
        Webhook.competition_id == competition_id, Webhook.off_at.is_(None)
    )
    if team_id is not None:
        query = query.where(or_(Webhook.team_id.is_(None), Webhook.team_id == team_id))
    # Without the lock, a webhook could be deleted before its events are written, and this transaction would
    # fail.
    webhooks = session.execute(query.order_by(Webhook.id).with_for_update(read=True, key_share=True))
    chosen = [webhook_id for webhook_id, events in webhooks if event.value in events]
    write(session, webhook_ids=chosen, event=event, subject_id=subject_id, details=details, now=now)
    return len(chosen)


def write(
    session: Session,
    *,
    webhook_ids: Iterable[int],
    event: Event,
    now: datetime,
    subject_id: int | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Write an event for webhooks; the caller must have locked them against deletion."""
    rows = [
        {
            "token": secrets.token_hex(16),
            "webhook_id": webhook_id,
            "event": event.value,
            "subject_id": subject_id,
            "details": dict(details or {}),
            "created_at": now,
            "available_at": now,
            "attempt_count": 0,
        }
        for webhook_id in webhook_ids
    ]
    if rows:
        session.execute(insert(Delivery), rows)


def are_due(now: datetime) -> ColumnElement[bool]:
    """Return the condition under which `claim` finds an event."""
    return select(Delivery.id).join(Delivery.webhook).where(_is_due(now)).exists()


def something_waits(session: Session, *, now: datetime) -> bool:
    """Return whether `claim` would find an event."""
    return bool(session.scalar(select(are_due(now))))


def claim(session: Session, *, now: datetime) -> Claimed | None:
    """Claim the oldest due event, tests first, and its webhook; return None if no event is due."""
    delivery = session.scalar(
        select(Delivery)
        .join(Delivery.webhook)
        .where(_is_due(now))
        .options(contains_eager(Delivery.webhook))
        .order_by(Delivery.event != Event.TEST.value, Delivery.available_at, Delivery.id)
        .limit(1)
        .with_for_update(skip_locked=True, key_share=True, of=Webhook)
    )
    if delivery is None:
        return None
    delivery.webhook.available_at = now + LEASE
    leased_rows.claim_letter(delivery, now=now, lease=LEASE)
    delivery.attempted_at, delivery.status, delivery.duration_ms = now, None, None
    session.flush()
    return Claimed(delivery.id, delivery.webhook_id, delivery.attempt_count)


def record_delivered(
    session: Session, *, claimed: Claimed, status: int, duration_ms: int, now: datetime
) -> None:
    """Record a successful delivery and reset the failures of its webhook."""
    held = _held(session, claimed)
    if held is None:
        return
    held.status, held.duration_ms, held.ended_at = status, duration_ms, now
    held.webhook.failure_count, held.webhook.failing_since = 0, None
    held.webhook.available_at = now
    _shorten_log(session, held.webhook_id)


def record_failed(
    session: Session, *, claimed: Claimed, status: int | None, duration_ms: int | None, now: datetime
) -> Webhook | None:
    """Record a failed attempt and extend the backoff.

    Return the webhook if it was switched off after failing for a day.
    """
    held = _held(session, claimed)
    if held is None:
        return None
    webhook = held.webhook
    held.status, held.duration_ms = status, duration_ms
    held.available_at = now + PAUSES.after(held.attempt_count)
    if held.event == Event.TEST:
        held.ended_at = now  # Tests are not retried: the user sees the result and can send another one.
    else:
        webhook.failure_count += 1
        webhook.failing_since = webhook.failing_since or now
    webhook.available_at = now + PAUSES.after(webhook.failure_count)
    _shorten_log(session, held.webhook_id)
    if webhook.failing_since is None or now - webhook.failing_since < OFF_AFTER:
        return None
    switch_off(session, webhook=webhook, reason=OffReason.FAILING, now=now)
    return webhook


def drop(session: Session, *, claimed: Claimed, now: datetime) -> None:
    """Delete a claimed event that no longer has content."""
    held = _held(session, claimed)
    if held is not None:
        held.webhook.available_at = now
        session.flush()
        session.delete(held)
        session.flush()


def switch_off(session: Session, *, webhook: Webhook, reason: OffReason, now: datetime) -> None:
    """Switch a webhook off and delete its undelivered events."""
    webhook.off_at, webhook.off_reason = now, reason
    session.flush()
    session.execute(delete(Delivery).where(Delivery.webhook_id == webhook.id, Delivery.ended_at.is_(None)))


def switch_on(session: Session, *, webhook: Webhook, now: datetime) -> None:
    """Switch a webhook on for future events."""
    webhook.off_at = webhook.off_reason = webhook.failing_since = None
    webhook.failure_count, webhook.available_at = 0, now
    webhook.ranks = webhook.ranks_told_at = None
    session.flush()


def remove(session: Session, *conditions: ColumnElement[bool]) -> None:
    """Delete webhooks and their events."""
    of_them = select(Webhook.id).where(*conditions)
    # The locks are acquired first, so that concurrent transactions can finish writing their events.
    session.execute(of_them.order_by(Webhook.id).with_for_update())
    session.execute(
        delete(Delivery).where(Delivery.webhook_id.in_(of_them)).execution_options(synchronize_session=False)
    )
    session.execute(delete(Webhook).where(*conditions).execution_options(synchronize_session=False))


def follow_merger(session: Session, *, taken: Team, into: Team) -> None:
    """Move a team's webhooks to the team into which it was merged."""
    session.execute(update(Webhook).where(Webhook.team_id == taken.id).values(team_id=into.id, ranks=None))


def give_up_all(session: Session, *, now: datetime) -> None:
    """End all undelivered events after a restore, because they may have been sent before."""
    session.execute(update(Delivery).where(Delivery.ended_at.is_(None)).values(ended_at=now))


def log_of(session: Session, *, webhook: Webhook) -> list[Delivery]:
    """Return the delivery log of a webhook: its attempted events, newest first."""
    query = select(Delivery).where(Delivery.webhook_id == webhook.id, Delivery.attempt_count > 0)
    return list(session.scalars(query.order_by(Delivery.id.desc()).limit(LOG_LENGTH)))


def is_old(now: datetime) -> ColumnElement[bool]:
    """Return the condition for events that were finished or abandoned at least a week ago."""
    return or_(
        Delivery.ended_at <= now - KEPT,
        and_(Delivery.ended_at.is_(None), Delivery.available_at <= now, Delivery.created_at <= now - KEPT),
    )


def _is_due(now: datetime) -> ColumnElement[bool]:
    return and_(
        leased_rows.is_due(Delivery, now, GIVEN_UP_AFTER),
        Webhook.available_at <= now,
        Webhook.off_at.is_(None),
    )


def _held(session: Session, claimed: Claimed) -> Delivery | None:
    """Lock a claimed event and its webhook; return None if the lease was lost."""
    webhook = session.get(Webhook, claimed.webhook_id, with_for_update={"key_share": True})
    if webhook is None:
        return None
    return leased_rows.hold_letter(session, Delivery, letter_id=claimed.delivery_id, attempt=claimed.attempt)


def _shorten_log(session: Session, webhook_id: int) -> None:
    """Delete the oldest events that exceed the maximum length of the log."""
    session.flush()
    ended = select(Delivery.id).where(Delivery.webhook_id == webhook_id, Delivery.ended_at.is_not(None))
    oldest = session.scalar(ended.order_by(Delivery.id.desc()).offset(LOG_LENGTH).limit(1))
    if oldest is not None:
        session.execute(
            delete(Delivery).where(
                Delivery.webhook_id == webhook_id, Delivery.ended_at.is_not(None), Delivery.id <= oldest
            )
        )

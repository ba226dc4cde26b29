"""Tell webhooks a day before a competition closes; a deadline that is moved is told again."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.models import Competition, CompetitionState, Webhook
from grader.services.webhooks import outbox
from grader.services.webhooks.outbox import Event

BEFORE = timedelta(hours=24)


def is_due(session: Session, *, now: datetime) -> bool:
    """Return whether `tell` would tell a webhook of a deadline."""
    query = select(Webhook.id).join(Webhook.competition).where(_is_near(now)).limit(1)
    return session.scalar(query) is not None


def tell(session: Session, *, now: datetime) -> None:
    """Write the event for the webhooks that were not told yet when their competition closes."""
    query = select(Webhook).join(Webhook.competition).where(_is_near(now)).order_by(Webhook.id)
    found: Sequence[Webhook] = session.scalars(
        query.options(joinedload(Webhook.competition)).with_for_update(key_share=True, of=Webhook)
    ).all()
    for webhook in found:
        closes_at = webhook.competition.closes_at
        webhook.deadline_told = closes_at
        if closes_at is not None and Event.DEADLINE.value in webhook.events:
            details = {"closes_at": closes_at.astimezone(UTC).isoformat().replace("+00:00", "Z")}
            outbox.write(session, webhook_ids=[webhook.id], event=Event.DEADLINE, details=details, now=now)
    session.flush()


def _is_near(now: datetime) -> ColumnElement[bool]:
    return and_(
        Webhook.off_at.is_(None),
        or_(Webhook.deadline_told.is_(None), Webhook.deadline_told != Competition.closes_at),
        Competition.state == CompetitionState.PUBLISHED,
        Competition.opens_at <= now,
        Competition.closes_at > now,
        Competition.closes_at <= now + BEFORE,
    )

"""Tables for webhooks: subscriptions and the delivery outbox."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum
from grader.models.competitions import Competition
from grader.models.people import User
from grader.models.teams import Team


class BodyFormat(enum.StrEnum):
    """The formats of webhook payloads: all fields as JSON, or a sentence in Slack's format."""

    JSON = "json"
    SLACK = "slack"


class OffReason(enum.StrEnum):
    """The reasons why a webhook is off: a user turned it off, it failed for a day, or its owner left."""

    SWITCHED_OFF = "switched_off"
    FAILING = "failing"
    OWNER_LEFT = "owner_left"


class Webhook(Base):
    """A URL that receives a team's events, or the organizers' events if `team_id` is None.

    The owner is the user who last created or changed the webhook. Payloads contain only what the owner may
    see. `available_at` is the earliest time of the next delivery, after a lease or a backoff. `ranks` are the
    last reported ranks with their leaderboard.
    """

    __tablename__ = "webhook"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"), index=True)
    team_id: Mapped[int | None] = mapped_column(ForeignKey("team.id"), index=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    url: Mapped[str] = mapped_column(String(1000))
    format: Mapped[BodyFormat] = mapped_column(stored_enum(BodyFormat, name="format"))
    events: Mapped[list[str]] = mapped_column(JSON().with_variant(JSONB(), "postgresql"))
    secret: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    available_at: Mapped[datetime]
    failure_count: Mapped[int] = mapped_column(default=0)
    failing_since: Mapped[datetime | None]
    off_at: Mapped[datetime | None]
    off_reason: Mapped[OffReason | None] = mapped_column(stored_enum(OffReason, name="off_reason"))
    ranks: Mapped[dict[str, Any] | None] = mapped_column(
        JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
    )
    ranks_told_at: Mapped[datetime | None]
    deadline_told: Mapped[datetime | None]

    competition: Mapped[Competition] = relationship()
    team: Mapped[Team | None] = relationship()
    owner: Mapped[User] = relationship()


class Delivery(Base):
    """An event to deliver to a webhook, with the result of the last attempt.

    The payload is built for each attempt. `token` identifies the event to the receiver and is the same for
    all attempts. `status` is the HTTP status, or None if there was no response.
    """

    __tablename__ = "webhook_delivery"
    __table_args__ = (
        Index("ix_webhook_delivery_ended_at_available_at", "ended_at", "available_at"),
        Index("ix_webhook_delivery_webhook_id_id", "webhook_id", "id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    token: Mapped[str] = mapped_column(String(32), unique=True)
    webhook_id: Mapped[int] = mapped_column(ForeignKey("webhook.id"))
    event: Mapped[str] = mapped_column(String(32))
    subject_id: Mapped[int | None]
    details: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    available_at: Mapped[datetime]
    attempt_count: Mapped[int] = mapped_column(default=0)
    attempted_at: Mapped[datetime | None]
    status: Mapped[int | None]
    duration_ms: Mapped[int | None]
    ended_at: Mapped[datetime | None]

    webhook: Mapped[Webhook] = relationship()

"""Tables for notifications, read marks, and queued e-mails."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base
from grader.models.competitions import Announcement, Competition
from grader.models.teams import Team


class Notification(Base):
    """A notification for a user, for a team, or for all participants if it has neither.

    `subject_id` is the id of the announcement, or of the submission whose question received an answer.
    """

    __tablename__ = "notification"
    __table_args__ = (Index(None, "competition_id", "team_id", "user_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    team_id: Mapped[int | None] = mapped_column(ForeignKey("team.id"))
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"), index=True)
    kind: Mapped[str] = mapped_column(String(32))
    subject_id: Mapped[int | None]
    created_at: Mapped[datetime]

    competition: Mapped[Competition] = relationship()
    team: Mapped[Team | None] = relationship()
    announcement: Mapped[Announcement | None] = relationship(
        primaryjoin="and_(Notification.kind == 'announcement', Announcement.id == Notification.subject_id)",
        foreign_keys="Notification.subject_id",
        viewonly=True,
    )


class NotificationRead(Base):
    """A record that a user has read a notification."""

    __tablename__ = "notification_read"

    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), primary_key=True)
    notification_id: Mapped[int] = mapped_column(
        ForeignKey("notification.id", ondelete="CASCADE"), primary_key=True
    )


class Mail(Base):
    """A queued e-mail that is claimed with a lease.

    The unique `key` prevents duplicate e-mails. `sent_at` is set after delivery.
    """

    __tablename__ = "mail"
    __table_args__ = (Index("ix_mail_sent_at_available_at", "sent_at", "available_at"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str | None] = mapped_column(String(128), unique=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"), index=True)
    to_address: Mapped[str] = mapped_column(String(254))
    subject: Mapped[str] = mapped_column(String(200))
    body: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(index=True)
    available_at: Mapped[datetime]
    attempt_count: Mapped[int] = mapped_column(default=0)
    sent_at: Mapped[datetime | None]
    error: Mapped[str | None] = mapped_column(Text)

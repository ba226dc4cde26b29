"""Site tables: audit log, e-mail, backups."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.models.base import Base
from grader.models.people import User


class AuditEntry(Base):
    """An organizer's action, written in the same transaction as its changes.

    `actor` is None for the shell and for scheduled tasks, which `origin` names. `subject` is the changed
    object, such as "team 12". `before` and `after` contain the changed fields. `times` lists the fields that
    contain times. Entries with `is_public` appear in the public log with the text `public_text`.
    """

    __tablename__ = "audit_entry"
    __table_args__ = (Index("ix_audit_entry_competition_id_id", "competition_id", "id"),)

    competition_id: Mapped[int | None] = mapped_column(ForeignKey("competition.id"))
    at: Mapped[datetime]
    actor_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))
    origin: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(64))
    subject: Mapped[str] = mapped_column(String(200))
    before: Mapped[dict[str, Any]]
    after: Mapped[dict[str, Any]]
    times: Mapped[list[str]]
    reason: Mapped[str]
    is_public: Mapped[bool]
    public_text: Mapped[str]

    actor: Mapped[User | None] = relationship()


class BackupRun(Base):
    """A backup that is complete, or failed with an `error`; an open run is in progress or was killed."""

    __tablename__ = "backup_run"

    target: Mapped[str]
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    error: Mapped[str | None]


class Mail(Base):
    """A queued e-mail that is claimed with a lease.

    The unique `key` prevents duplicate e-mails. `sent_at` is set after delivery.
    """

    __tablename__ = "mail"
    __table_args__ = (Index("ix_mail_sent_at_available_at", "sent_at", "available_at"),)

    key: Mapped[str | None] = mapped_column(String(128), unique=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"), index=True)
    to_address: Mapped[str] = mapped_column(String(254))
    subject: Mapped[str] = mapped_column(String(200))
    body: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(index=True)
    available_at: Mapped[datetime]
    attempt_count: Mapped[int] = mapped_column(default=0)
    sent_at: Mapped[datetime | None]
    error: Mapped[str | None]

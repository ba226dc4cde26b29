"""Table of the audit log."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base
from grader.models.people import User


class AuditEntry(Base):
    """An organizer's action, written in the same transaction as its changes.

    `actor` is None for the shell and for scheduled tasks, which `origin` names. `subject` is the changed
    object, such as "team 12". `before` and `after` contain the changed fields. `times` lists the fields that
    contain times. Entries with `is_public` appear in the public log with the text `public_text`.
    """

    __tablename__ = "audit_entry"
    __table_args__ = (Index("ix_audit_entry_competition_id_id", "competition_id", "id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int | None] = mapped_column(ForeignKey("competition.id"))
    at: Mapped[datetime]
    actor_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))
    origin: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(64))
    subject: Mapped[str] = mapped_column(String(200))
    before: Mapped[dict[str, Any]]
    after: Mapped[dict[str, Any]]
    times: Mapped[list[str]] = mapped_column(JSON)
    reason: Mapped[str] = mapped_column(Text)
    is_public: Mapped[bool]
    public_text: Mapped[str] = mapped_column(Text)

    actor: Mapped[User | None] = relationship()

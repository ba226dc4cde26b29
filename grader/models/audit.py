"""Tables for the audit log and for organizers' marks on the Fair play page."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, Text, UniqueConstraint
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


class FairPlayMark(Base):
    """A record that a row of the Fair play page, such as "team 3", was reviewed, with the reason."""

    __tablename__ = "fair_play_mark"
    __table_args__ = (UniqueConstraint("competition_id", "line"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    line: Mapped[str] = mapped_column(String(64))
    reason: Mapped[str] = mapped_column(Text)
    marked_by_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))
    marked_at: Mapped[datetime]

    marked_by: Mapped[User | None] = relationship()

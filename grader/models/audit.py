"""Tables of the audit log and of organizers' marks on the page Fair play."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base
from grader.models.people import User


class AuditEntry(Base):
    """An act of an organizer, written in its transaction.

    `actor` is None for the shell and the calendar, which `origin` names. `subject` is the changed object,
    such as "team 12". `before` and `after` hold the changed fields, and `times` the names of those that are
    times (None in entries of older versions). `is_public` entries are in the public log with the sentence
    `public_text`.
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
    times: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    reason: Mapped[str] = mapped_column(Text)
    is_public: Mapped[bool]
    public_text: Mapped[str] = mapped_column(Text)

    actor: Mapped[User | None] = relationship()


class FairPlayMark(Base):
    """A checked row of the page Fair play, such as "team 3", and why nothing is wrong."""

    __tablename__ = "fair_play_mark"
    __table_args__ = (UniqueConstraint("competition_id", "line"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    line: Mapped[str] = mapped_column(String(64))
    reason: Mapped[str] = mapped_column(Text)
    marked_by_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))
    marked_at: Mapped[datetime]

    marked_by: Mapped[User | None] = relationship()

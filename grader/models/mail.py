"""Table of the mail outbox: e-mails to send, with attempts and leases."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column, synonym

from grader.db import Base


class Mail(Base):
    """One e-mail. `key` says what it is about: a second one with the same key is not written.

    A sender claims it with a lease like a scoring job; `sent_at` is set after the server took it.
    """

    __tablename__ = "mail"
    __table_args__ = (Index("ix_mail_sent_at_available_at", "sent_at", "available_at"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str | None] = mapped_column(String(128), unique=True)
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"), index=True)
    to_address: Mapped[str] = mapped_column(String(254))
    subject: Mapped[str] = mapped_column(String(200))
    body: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    available_at: Mapped[datetime]
    attempt_count: Mapped[int] = mapped_column(default=0)
    sent_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None] = synonym("sent_at")
    error: Mapped[str | None] = mapped_column(Text)

"""Table of queued e-mails."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from grader.db import Base


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

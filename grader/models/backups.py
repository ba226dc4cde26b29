"""Table of backup runs."""

from datetime import datetime

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from grader.db import Base


class BackupRun(Base):
    """A backup in progress, complete (with the backup's `name`) or failed (with an `error`).

    A run without `ended_at` holds the lock until `lease_until`, which the process extends.
    """

    __tablename__ = "backup_run"

    id: Mapped[int] = mapped_column(primary_key=True)
    target: Mapped[str] = mapped_column(Text)
    started_at: Mapped[datetime]
    lease_until: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    name: Mapped[str | None] = mapped_column(String(64))
    size_bytes: Mapped[int | None] = mapped_column(BigInteger)
    copied_bytes: Mapped[int | None] = mapped_column(BigInteger)
    error: Mapped[str | None] = mapped_column(Text)

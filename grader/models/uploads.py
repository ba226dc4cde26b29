"""Table of uploads that were announced: the parts that have come, and the whole file until it is used."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from grader.db import Base


class AnnouncedUpload(Base):
    """A file that a person announced; a submission's belongs to a competition, an organizer's to none yet.

    `parts` are the blobs that have come so far, each with its length; `sha256` is the whole file.
    """

    __tablename__ = "announced_upload"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    competition_id: Mapped[int | None] = mapped_column(ForeignKey("competition.id"), index=True)
    name: Mapped[str] = mapped_column(String(255))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    parts: Mapped[list[list[Any]]] = mapped_column(JSON, default=list)
    sha256: Mapped[str | None] = mapped_column(String(64))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    used_at: Mapped[datetime | None]

    @property
    def received_bytes(self) -> int:
        """How many bytes of the file are stored, from its beginning."""
        return self.size_bytes if self.sha256 else sum(int(size) for _, size in self.parts)

"""Table of announcements: what organizers write to participants."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from grader.db import Base


class Announcement(Base):
    """One announcement in Markdown; withdrawn ones stay for the audit and are not shown."""

    __tablename__ = "announcement"

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"), index=True)
    title: Mapped[str] = mapped_column(String(200))
    body: Mapped[str] = mapped_column(Text)
    posted_at: Mapped[datetime]
    withdrawn_at: Mapped[datetime | None]

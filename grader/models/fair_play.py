"""Table of marks on the page Fair play: an organizer looked at a line and found nothing wrong."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base
from grader.models.people import User


class FairPlayMark(Base):
    """A line of the page that was looked at, such as "team 3", and why nothing is wrong."""

    __tablename__ = "fair_play_mark"
    __table_args__ = (UniqueConstraint("competition_id", "line"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    line: Mapped[str] = mapped_column(String(64))
    reason: Mapped[str] = mapped_column(Text)
    marked_by_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))
    marked_at: Mapped[datetime]

    marked_by: Mapped[User | None] = relationship()

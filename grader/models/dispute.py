"""Table of disputes: a team's question about a score and the organizers' answer."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, Text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base
from grader.models.submission import Submission
from grader.models.user import User


class Dispute(Base):
    """One question about one submission's score; it is open until it is answered."""

    __tablename__ = "dispute"
    __table_args__ = (Index("ix_dispute_competition_id_answered_at", "competition_id", "answered_at"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.id"), index=True)
    asked_by_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    asked_at: Mapped[datetime]
    question: Mapped[str] = mapped_column(Text)
    answer: Mapped[str] = mapped_column(Text, default="", server_default="")
    answered_by_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))
    answered_at: Mapped[datetime | None]

    submission: Mapped[Submission] = relationship()
    asked_by: Mapped[User] = relationship(foreign_keys=[asked_by_id])
    answered_by: Mapped[User | None] = relationship(foreign_keys=[answered_by_id])

"""Table of extra submissions granted by organizers."""

from datetime import date, datetime

from sqlalchemy import ForeignKey, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from grader.db import Base


class SubmissionGrant(Base):
    """Raises one UTC day's limit and the total limit by `count`: a team's, or without a team everybody's."""

    __tablename__ = "submission_grant"
    __table_args__ = (Index("ix_submission_grant_competition_id_team_id", "competition_id", "team_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    team_id: Mapped[int | None] = mapped_column(ForeignKey("team.id"))
    day: Mapped[date]
    count: Mapped[int]
    reason: Mapped[str] = mapped_column(Text)
    granted_at: Mapped[datetime]

"""Table of participations: a person's entry into a competition and the team."""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum
from grader.models.competition import Competition
from grader.models.team import RequestState
from grader.models.user import User


class Participation(Base):
    """A person in a competition, with the rules they accepted.

    `bound_team_id` is the team whose first submission ended the person's choice: nobody of it enters the
    competition through another team.
    """

    __tablename__ = "participation"
    __table_args__ = (UniqueConstraint("competition_id", "user_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    state: Mapped[RequestState] = mapped_column(stored_enum(RequestState, name="state"))
    rules_version: Mapped[int]
    requested_at: Mapped[datetime]
    joined_at: Mapped[datetime | None]
    bound_team_id: Mapped[int | None] = mapped_column(ForeignKey("team.id"))

    competition: Mapped[Competition] = relationship()
    user: Mapped[User] = relationship()

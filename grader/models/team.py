"""Teams: who competes in a competition, maybe one person."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base
from grader.models.user import User


class Team(Base):
    """A team of one competition; its name is unique there."""

    __tablename__ = "team"
    __table_args__ = (UniqueConstraint("competition_id", "name_key"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    name: Mapped[str] = mapped_column(String(64))
    name_key: Mapped[str] = mapped_column(String(256))
    created_at: Mapped[datetime]

    members: Mapped[list["TeamMember"]] = relationship(back_populates="team")


class TeamMember(Base):
    """A person in a team; a person is in one team per competition."""

    __tablename__ = "team_member"
    __table_args__ = (UniqueConstraint("competition_id", "user_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    joined_at: Mapped[datetime]

    team: Mapped[Team] = relationship(back_populates="members")
    user: Mapped[User] = relationship()

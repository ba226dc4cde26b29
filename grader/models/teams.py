"""Tables for teams, members, invitations and merge requests."""

import base64
import enum
import secrets
from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.models.base import Base
from grader.models.people import User


def random_alias() -> str:
    """Return the name that other teams see in an anonymous competition; it depends on nothing.

    It has no letter that looks like another one, so its key in lower case is the alias itself.
    """
    code = base64.b32encode(secrets.token_bytes(5)).decode()
    return f"Team {code.replace('I', '8').replace('M', '9')}"


class Team(Base):
    """A team in a competition.

    Names that look alike count as the same (see `name_key` of `User`).

    A team that was merged into another keeps its row and name but has no members and no submissions. The
    organizers' team owns their test submissions. It has no members and appears on no leaderboard.

    A team that the organizers renamed cannot change its name (`is_name_fixed`).

    `carried_from_id` is the team of the previous stage from which a team was carried over.
    """

    __tablename__ = "team"
    __table_args__ = (
        UniqueConstraint("competition_id", "name_key"),
        Index(None, "competition_id", "alias", unique=True),
        Index(
            "ix_team_organizers",
            "competition_id",
            postgresql_where=text("is_organizers"),
            sqlite_where=text("is_organizers = 1"),
        ),
        {"sqlite_autoincrement": True},
    )

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    name: Mapped[str] = mapped_column(String(256))
    name_key: Mapped[str] = mapped_column(String(256))
    created_at: Mapped[datetime]
    leader_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))
    merged_into_id: Mapped[int | None] = mapped_column(ForeignKey("team.id"), index=True)
    disqualified_at: Mapped[datetime | None]
    extended_until: Mapped[datetime | None]
    disqualification_reason: Mapped[str] = mapped_column(default="")
    is_organizers: Mapped[bool] = mapped_column(default=False)
    is_name_fixed: Mapped[bool] = mapped_column(default=False)
    alias: Mapped[str] = mapped_column(String(16), default=random_alias)
    division: Mapped[str | None] = mapped_column(String(64))
    carried_from_id: Mapped[int | None] = mapped_column(ForeignKey("team.id"), index=True)

    leader: Mapped[User | None] = relationship()
    members: Mapped[list["TeamMember"]] = relationship(back_populates="team")

    @property
    def is_disqualified(self) -> bool:
        """Whether the organizers disqualified the team."""
        return self.disqualified_at is not None

    @property
    def disqualification(self) -> str | None:
        """The reason for the disqualification, or None."""
        return self.disqualification_reason if self.is_disqualified else None


class TeamMember(Base):
    """A user's membership in a team; a user can be in only one team per competition."""

    __tablename__ = "team_member"
    __table_args__ = (UniqueConstraint("competition_id", "user_id"),)

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"), index=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    joined_at: Mapped[datetime]

    team: Mapped[Team] = relationship(back_populates="members")
    user: Mapped[User] = relationship()


class TeamInvite(Base):
    """An invitation to a team, for anyone with the link."""

    __tablename__ = "team_invite"
    __table_args__ = ({"sqlite_autoincrement": True},)

    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"), index=True)
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    created_by_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]

    team: Mapped[Team] = relationship()
    created_by: Mapped[User] = relationship()


class RequestState(enum.StrEnum):
    """The states of a request on which another user decides."""

    OPEN = "open"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"


class MergeRequest(Base):
    """A team's request to merge another team into itself, on which the other team's leader decides."""

    __tablename__ = "merge_request"
    __table_args__ = ({"sqlite_autoincrement": True},)

    from_team_id: Mapped[int] = mapped_column(ForeignKey("team.id"), index=True)
    to_team_id: Mapped[int] = mapped_column(ForeignKey("team.id"), index=True)
    state: Mapped[RequestState]
    created_at: Mapped[datetime]

    from_team: Mapped[Team] = relationship(foreign_keys=[from_team_id])
    to_team: Mapped[Team] = relationship(foreign_keys=[to_team_id])

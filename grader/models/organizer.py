"""Table of organizers: who runs a competition, in which role."""

import enum
from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum
from grader.models.user import User


class Role(enum.StrEnum):
    """An owner may do all; an editor all but publish, archive and choose organizers; a viewer sees."""

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


class Organizer(Base):
    """A person's role in a competition; administrators of the site are owners of all without a row."""

    __tablename__ = "organizer"
    __table_args__ = (UniqueConstraint("competition_id", "user_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    role: Mapped[Role] = mapped_column(stored_enum(Role, name="role"))
    added_at: Mapped[datetime]

    user: Mapped[User] = relationship()

"""A competition: one task with data, metric and deadlines."""

import enum
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum

if TYPE_CHECKING:
    from grader.models.scoring_version import ScoringVersion


class CompetitionState(enum.StrEnum):
    """The stored states; scheduled, open and closed follow from the time."""

    DRAFT = "draft"
    PUBLISHED = "published"
    REVEALED = "revealed"
    ARCHIVED = "archived"


class Competition(Base):
    """A competition; `live_scoring_version` is the one pointer that every board reads through."""

    __tablename__ = "competition"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(40), unique=True)
    title: Mapped[str] = mapped_column(String(200))
    overview: Mapped[str] = mapped_column(Text, default="")
    state: Mapped[CompetitionState] = mapped_column(stored_enum(CompetitionState, name="state"))
    opens_at: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    revealed_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    live_scoring_version_id: Mapped[int | None] = mapped_column(
        ForeignKey("scoring_version.id", use_alter=True)
    )

    live_scoring_version: Mapped["ScoringVersion | None"] = relationship(
        foreign_keys=[live_scoring_version_id], post_update=True
    )

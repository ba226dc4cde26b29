"""Table of scoring versions: a solution and metric settings that scores belong to."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum
from grader.models.solution import Solution


class ScoringVersionState(enum.StrEnum):
    """`preparing` is scored beside the live one; publishing makes it `live` and the other `retired`."""

    PREPARING = "preparing"
    LIVE = "live"
    RETIRED = "retired"
    DROPPED = "dropped"


class ScoringVersion(Base):
    """One way of scoring all submissions of a competition.

    `notice` is what teams read when it was published last, and `replaced_number` the version that was live
    until then: the one that they compare their scores with.
    """

    __tablename__ = "scoring_version"
    __table_args__ = (UniqueConstraint("competition_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    number: Mapped[int]
    solution_id: Mapped[int] = mapped_column(ForeignKey("solution.id"))
    metric_settings: Mapped[dict[str, Any]]
    metric_code_version: Mapped[str] = mapped_column(String(32))
    reason: Mapped[str] = mapped_column(Text)
    state: Mapped[ScoringVersionState] = mapped_column(stored_enum(ScoringVersionState, name="state"))
    created_by: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    published_at: Mapped[datetime | None]
    notice: Mapped[str] = mapped_column(Text, default="", server_default="")
    replaced_number: Mapped[int | None]

    solution: Mapped[Solution] = relationship()

"""Table of daily ranks: public ranks at the start of a UTC day."""

from datetime import date

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from grader.db import Base


class DailyRank(Base):
    """A team's public rank when `day` began, under one scoring version; rebuildable from the submissions."""

    __tablename__ = "daily_rank"
    __table_args__ = (UniqueConstraint("scoring_version_id", "day", "team_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    scoring_version_id: Mapped[int] = mapped_column(ForeignKey("scoring_version.id"))
    day: Mapped[date]
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"))
    rank: Mapped[int]

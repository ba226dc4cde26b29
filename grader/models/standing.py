"""Table of standings: each team's entry on the public and private leaderboard of a scoring version."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum
from grader.models.score import Split
from grader.models.submission import Submission
from grader.models.team import Team


class Standing(Base):
    """A team's entry; there is no rank column, for the rank is computed when a board is read.

    `score_units` is the displayed score in units of 0.00001.
    """

    __tablename__ = "standing"

    id: Mapped[int] = mapped_column(primary_key=True)
    scoring_version_id: Mapped[int] = mapped_column(ForeignKey("scoring_version.id"))
    split: Mapped[Split] = mapped_column(stored_enum(Split, name="split"))
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"))
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.id"))
    score_units: Mapped[int] = mapped_column()
    submitted_at: Mapped[datetime]

    __table_args__ = (
        UniqueConstraint("scoring_version_id", "split", "team_id"),
        # The order of a board, so that a page of it reads its own lines only.
        Index(
            "ix_standing_board",
            "scoring_version_id",
            "split",
            score_units.desc(),
            "submitted_at",
            "submission_id",
        ),
    )

    team: Mapped[Team] = relationship()
    submission: Mapped[Submission] = relationship()

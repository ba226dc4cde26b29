"""Table of scores: one submission on one split under a scoring version; append-only."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import Double, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from grader.db import Base, stored_enum


class Split(enum.StrEnum):
    """The splits that a score is computed on."""

    PUBLIC = "public"
    PRIVATE = "private"


class Score(Base):
    """The score, its four terms, and the exact integer counts of every cell they derive from.

    There is no index by scoring version alone: a planner without statistics takes it for a good one.
    """

    __tablename__ = "score"
    __table_args__ = (UniqueConstraint("submission_id", "scoring_version_id", "split"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.id"))
    scoring_version_id: Mapped[int] = mapped_column(ForeignKey("scoring_version.id"))
    split: Mapped[Split] = mapped_column(stored_enum(Split, name="split"))
    score: Mapped[float] = mapped_column(Double)
    overall_auc: Mapped[float] = mapped_column(Double)
    subgroup_auc: Mapped[float] = mapped_column(Double)
    bpsn_auc: Mapped[float] = mapped_column(Double)
    bnsp_auc: Mapped[float] = mapped_column(Double)
    counts: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]

"""Tables of scoring: the job of one submission, and its scores on both splits."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import Double, ForeignKey, Index, LargeBinary, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum
from grader.models.solutions import ScoringVersion
from grader.models.submissions import Submission


class Split(enum.StrEnum):
    """The splits that a score is computed on."""

    PUBLIC = "public"
    PRIVATE = "private"


class Score(Base):
    """The score, its four terms, and the exact integer counts of every cell they derive from.

    `shown_units` is what a coarse mode of feedback shows of a public score, None where that is nothing; it
    follows from the team's other files and changes with them. The exact modes do not write it. `errors` has
    the standard errors of the score and its terms, as far as they are defined.

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
    shown_units: Mapped[int | None]
    errors: Mapped[dict[str, Any] | None]


class ScoreBasis(Base):
    """What a coarse mode of feedback needs of a scored file beside its score (`grader.feedback.Basis`)."""

    __tablename__ = "score_basis"

    score_id: Mapped[int] = mapped_column(ForeignKey("score.id"), primary_key=True)
    noise: Mapped[float] = mapped_column(Double)
    sketch: Mapped[bytes | None] = mapped_column(LargeBinary)


class JobState(enum.StrEnum):
    """`waiting` and `claimed` are open; the others are ends."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    DONE = "done"
    REJECTED = "rejected"
    FAILED = "failed"


class ScoringJob(Base):
    """The scoring of one submission under one scoring version.

    It can be claimed from `available_at` on: at once, or some time after an exception of our own. A claim
    sets `lease_until`, a new `token` and the `holder`, the name of the process that claims (None where one of
    an older version did), and counts an attempt; only the holder of the current token may record.
    `error_count` counts exceptions of our own; the other ended attempts were lost leases. What came of the
    job stands here and, while its scoring version is live, on the submission.
    """

    __tablename__ = "scoring_job"
    __table_args__ = (
        UniqueConstraint("submission_id", "scoring_version_id"),
        Index("ix_scoring_job_state_available_at", "state", "available_at"),
        Index("ix_scoring_job_scoring_version_id_state", "scoring_version_id", "state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.id"))
    scoring_version_id: Mapped[int] = mapped_column(ForeignKey("scoring_version.id"))
    state: Mapped[JobState] = mapped_column(stored_enum(JobState, name="state"))
    created_at: Mapped[datetime]
    available_at: Mapped[datetime]
    lease_until: Mapped[datetime | None]
    token: Mapped[str | None] = mapped_column(String(32))
    holder: Mapped[str | None] = mapped_column(String(120))
    attempt_count: Mapped[int] = mapped_column(default=0)
    error_count: Mapped[int] = mapped_column(default=0)
    finished_at: Mapped[datetime | None]
    problems: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    notes: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    incident: Mapped[str | None] = mapped_column(String(16))

    submission: Mapped[Submission] = relationship()
    scoring_version: Mapped[ScoringVersion] = relationship()

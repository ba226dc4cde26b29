"""Tables of solutions, scoring versions, scores and scoring jobs."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import Double, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum
from grader.models.submissions import Submission


class Solution(Base):
    """A version of a competition's solution.

    The web reads only `row_ids_sha256`. `prepared_sha256` holds labels, identities and splits for workers and
    organizers' commands. `report` holds the counts shown at the upload. `digest` is the sha256 of the
    canonical form, as secret as the content, because it would confirm guessed labels. `commitment` is the
    sha256 of `nonce` (32 random bytes in hexadecimal) and that form; it is public, the nonce is published
    with the solution. `canaries` is stored in the database only, so a leak of the stored files does not
    reveal them.
    """

    __tablename__ = "solution"
    __table_args__ = (UniqueConstraint("competition_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    number: Mapped[int]
    row_ids_sha256: Mapped[str] = mapped_column(String(64))
    prepared_sha256: Mapped[str] = mapped_column(String(64))
    sample_submission_sha256: Mapped[str] = mapped_column(String(64))
    row_count: Mapped[int]
    public_row_count: Mapped[int]
    private_row_count: Mapped[int]
    digest: Mapped[str | None] = mapped_column(String(64))
    nonce: Mapped[str | None] = mapped_column(String(64))
    commitment: Mapped[str | None] = mapped_column(String(64))
    canaries: Mapped[str | None] = mapped_column(Text)
    report: Mapped[dict[str, Any]]
    uploaded_at: Mapped[datetime]


class ScoringVersionState(enum.StrEnum):
    """`preparing` is scored beside the live one; publishing makes it `live` and the other `retired`."""

    PREPARING = "preparing"
    LIVE = "live"
    RETIRED = "retired"
    DROPPED = "dropped"


class ScoringVersion(Base):
    """A solution with metric settings, by which all submissions of a competition are scored.

    `notice` is the message of its last publication, and `replaced_number` the version that was live before.
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


class Split(enum.StrEnum):
    """The splits that a score is computed on."""

    PUBLIC = "public"
    PRIVATE = "private"


class Score(Base):
    """A score with its four terms and the exact integer counts of every cell.

    `shown_units` is the public score that a coarse feedback mode shows, None if it shows none; it depends on
    the team's other files. `errors` has the defined standard errors of the score and its terms.

    There is no index by scoring version alone: a planner without statistics would prefer it wrongly.
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

"""Tables for solutions, scoring versions, scores, scoring jobs and standings."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    ForeignKey,
    Index,
    String,
    UniqueConstraint,
    select,
)
from sqlalchemy.orm import InstrumentedAttribute, Mapped, aliased, mapped_column, relationship

from fairboard.interface import Direction
from grader.files.solution.canonical_form import commitment_to
from grader.metrics import registry
from grader.models.base import Base
from grader.models.submissions import Submission
from grader.models.teams import Team
from grader.ranking.order import COLUMNS, Column, Scale
from grader.ranking.selection import MAIN_BOARD, Split


class Solution(Base):
    """A version of a competition's solution.

    The web process reads only the blob `row_ids_sha256`. The blob `prepared_sha256` contains the labels,
    identities and splits for workers and organizers' commands. `report` contains the counts shown after the
    upload.

    `digest` is the SHA-256 of the canonical form. It is as secret as the content, because it would confirm
    guessed labels. The public commitment is the SHA-256 of `nonce` (32 random bytes in hexadecimal) and
    the digest. The nonce is published with the solution.
    """

    __tablename__ = "solution"
    __table_args__ = (UniqueConstraint("competition_id", "number"), {"sqlite_autoincrement": True})

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    number: Mapped[int]
    row_ids_sha256: Mapped[str] = mapped_column(String(64))
    prepared_sha256: Mapped[str] = mapped_column(String(64))
    sample_submission_sha256: Mapped[str] = mapped_column(String(64))
    row_count: Mapped[int]
    public_row_count: Mapped[int]
    private_row_count: Mapped[int]
    digest: Mapped[str] = mapped_column(String(64))
    nonce: Mapped[str] = mapped_column(String(64))
    report: Mapped[dict[str, Any]]
    uploaded_at: Mapped[datetime]

    @property
    def commitment(self) -> str:
        """The public commitment to the content."""
        return commitment_to(self.digest, self.nonce)


class ScoringVersionState(enum.StrEnum):
    """The states of a scoring version.

    A `preparing` version is scored in parallel with the live one. Publishing makes it `live` and the previous
    one `retired`.
    """

    PREPARING = "preparing"
    LIVE = "live"
    RETIRED = "retired"
    DROPPED = "dropped"


class ScoringVersion(Base):
    """A solution with metric settings, used to score all submissions of a competition.

    `notice` is the message of its last publication. `replaced_number` is the version that was live before it.
    """

    __tablename__ = "scoring_version"
    __table_args__ = (UniqueConstraint("competition_id", "number"), {"sqlite_autoincrement": True})

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    number: Mapped[int]
    solution_id: Mapped[int] = mapped_column(ForeignKey("solution.id"))
    metric_settings: Mapped[dict[str, Any]]
    metric_code_version: Mapped[str] = mapped_column(String(32))
    reason: Mapped[str]
    state: Mapped[ScoringVersionState]
    created_by: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    published_at: Mapped[datetime | None]
    notice: Mapped[str] = mapped_column(default="")
    replaced_number: Mapped[int | None]

    solution: Mapped[Solution] = relationship()

    @property
    def scale(self) -> Scale:
        """The scale of the metric's scores."""
        metric = registry.of_settings(self.metric_settings).describe()
        return Scale(metric.decimals, metric.direction is Direction.LOWEST)


class Score(Base):
    """A score with its terms, group tables and the evidence from which it can be recomputed.

    `errors` contains the standard errors of the score and of its defined terms. Names in `terms`, `groups`
    and `errors` are those of the metric. The keys of a JSON column have no order.

    There is no index on the scoring version alone, because a planner without statistics would wrongly prefer
    it.
    """

    __tablename__ = "score"
    __table_args__ = (UniqueConstraint("submission_id", "scoring_version_id", "split"),)

    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.id"))
    scoring_version_id: Mapped[int] = mapped_column(ForeignKey("scoring_version.id"))
    split: Mapped[Split]
    score: Mapped[float] = mapped_column(Double)
    terms: Mapped[dict[str, Any]] = mapped_column(default=dict)
    groups: Mapped[dict[str, Any]] = mapped_column(default=dict)
    evidence: Mapped[dict[str, Any]] = mapped_column("counts")
    created_at: Mapped[datetime]
    errors: Mapped[dict[str, Any] | None]


class JobState(enum.StrEnum):
    """The states of a job; all except `waiting` and `claimed` are final."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    DONE = "done"
    REJECTED = "rejected"
    FAILED = "failed"


class LeasedJob(Base):
    """The columns of a job of any queue.

    A job can be claimed after `available_at`, which an internal error postpones. A claim sets `lease_until`,
    a new `token` and the `holder`, and counts an attempt. The holder is the name of the claiming process.
    Only a process with the current token may record the result. `error_count` counts internal errors; the
    other unsuccessful attempts lost their lease. `problems` contains the reasons for a rejection.
    """

    __abstract__ = True

    state: Mapped[JobState]
    created_at: Mapped[datetime]
    available_at: Mapped[datetime]
    lease_until: Mapped[datetime | None]
    token: Mapped[str | None] = mapped_column(String(32))
    holder: Mapped[str | None] = mapped_column(String(120))
    attempt_count: Mapped[int] = mapped_column(default=0)
    error_count: Mapped[int] = mapped_column(default=0)
    finished_at: Mapped[datetime | None]
    problems: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    incident: Mapped[str | None] = mapped_column(String(16))


class ScoringJob(LeasedJob):
    """The job that scores one submission under one scoring version.

    The result is stored here and, while the scoring version is live, also on the submission.
    """

    __tablename__ = "scoring_job"
    __table_args__ = (
        UniqueConstraint("submission_id", "scoring_version_id"),
        Index("ix_scoring_job_state_available_at", "state", "available_at"),
        Index("ix_scoring_job_scoring_version_id_state", "scoring_version_id", "state"),
        Index("ix_scoring_job_finished_at", "finished_at"),
    )

    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.id"))
    scoring_version_id: Mapped[int] = mapped_column(ForeignKey("scoring_version.id"))
    notes: Mapped[list[dict[str, Any]]] = mapped_column(default=list)

    submission: Mapped[Submission] = relationship()
    scoring_version: Mapped[ScoringVersion] = relationship()


class Standing(Base):
    """A team's entry on a leaderboard.

    The rank is not stored; each request computes it. Named leaderboards have keys; the key of the main one,
    which ranks by the score, is empty. `score_units` is the displayed value in units of the leaderboard's
    scale; more units are better.
    """

    __tablename__ = "standing"

    scoring_version_id: Mapped[int] = mapped_column(ForeignKey("scoring_version.id"))
    split: Mapped[Split]
    board: Mapped[str] = mapped_column(String(40), default=MAIN_BOARD)
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"))
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.id"))
    score_units: Mapped[int] = mapped_column(BigInteger)
    submitted_at: Mapped[datetime]

    __table_args__ = (UniqueConstraint("scoring_version_id", "split", "board", "team_id"),)

    team: Mapped[Team] = relationship()
    submission: Mapped[Submission] = relationship()


def _directed(column: Column) -> ColumnElement[Any]:
    stored: InstrumentedAttribute[Any] = getattr(Standing, column.name)
    return stored.desc() if column.is_highest_first else stored.expression


STANDING_ORDER = tuple(_directed(column) for column in COLUMNS)
# With this index, a page of a leaderboard reads only its own rows.
# With the team at its end, the index alone answers which rank a team has.
_BOARD = Standing.scoring_version_id, Standing.split, Standing.board
Index("ix_standing_board", *_BOARD, *STANDING_ORDER, Standing.team_id)


def on_board(
    scoring_version_id: int,
    *splits: Split,
    board: str = MAIN_BOARD,
    division: str | None = None,
    row: type[Standing] = Standing,
) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for the rows of one leaderboard, by default the main one with all divisions."""
    rows: tuple[ColumnElement[bool], ...] = (
        row.scoring_version_id == scoring_version_id,
        row.split == splits[0] if len(splits) == 1 else row.split.in_(splits),
        row.board == board,
    )
    if division is None:
        return rows
    team = aliased(Team)
    is_inside = select(team.id).where(team.id == row.team_id, team.division == division)
    return *rows, is_inside.correlate(row).exists()

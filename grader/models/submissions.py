"""Tables for submissions, multipart uploads, extra submissions, questions about scores."""

import enum
from datetime import date, datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.models.base import Base
from grader.models.competitions import Competition
from grader.models.people import User
from grader.models.teams import Team
from grader.ranking.selection import SubmissionKind


class SubmissionStatus(enum.StrEnum):
    """Submission statuses: `rejected` means an error in the file, `failed` an error on the server."""

    PENDING = "pending"
    SCORED = "scored"
    REJECTED = "rejected"
    FAILED = "failed"


class Submission(Base):
    """An upload that entered the queue, with the file reader's `problems` and `notes`.

    `slot_day` is the UTC day toward whose limit the submission counts, or None. A pending submission counts
    toward the day of its upload. A rejected or failed one no longer counts.

    The bytes of a rejected file are kept for at most one day; after `file_deleted_at`, this row no longer
    needs them.
    """

    __tablename__ = "submission"
    __table_args__ = (
        UniqueConstraint("team_id", "idempotency_key"),
        Index("ix_submission_team_id_slot_day", "team_id", "slot_day"),
        Index("ix_submission_competition_id_status", "competition_id", "status"),
        # With this index, a leaderboard counts the entries of all teams without reading their rows.
        Index("ix_submission_entries", "competition_id", "kind", "status", "team_id", "submitted_at"),
        Index("ix_submission_team_id_submitted_at", "team_id", "submitted_at"),
        Index(
            "ix_submission_file_deleted_at",
            "file_deleted_at",
            postgresql_where=text("file_deleted_at IS NOT NULL"),
            sqlite_where=text("file_deleted_at IS NOT NULL"),
        ),
    )

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    sha256: Mapped[str] = mapped_column(String(64))
    size_bytes: Mapped[int]
    file_name: Mapped[str] = mapped_column(String(255))
    description: Mapped[str] = mapped_column(default="")
    status: Mapped[SubmissionStatus]
    submitted_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    problems: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    notes: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    incident: Mapped[str | None] = mapped_column(String(16))
    kind: Mapped[SubmissionKind] = mapped_column(default=SubmissionKind.NORMAL)
    is_selected: Mapped[bool] = mapped_column(default=False)
    slot_day: Mapped[date | None]
    file_deleted_at: Mapped[datetime | None]
    idempotency_key: Mapped[str | None] = mapped_column(String(128))

    competition: Mapped[Competition] = relationship()
    team: Mapped[Team] = relationship()
    user: Mapped[User] = relationship()


class SubmissionGrant(Base):
    """Extra submissions for one UTC day, for one team or for all teams if `team_id` is None.

    From that day on, they also raise the total limit.
    """

    __tablename__ = "submission_grant"
    __table_args__ = (Index("ix_submission_grant_competition_id_team_id", "competition_id", "team_id"),)

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    team_id: Mapped[int | None] = mapped_column(ForeignKey("team.id"))
    day: Mapped[date]
    count: Mapped[int]
    reason: Mapped[str]
    granted_at: Mapped[datetime]

    team: Mapped["Team | None"] = relationship()


class AnnouncedUpload(Base):
    """A file that is not submitted yet; `sha256` is None until an announced file has arrived."""

    __tablename__ = "announced_upload"

    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"), index=True)
    name: Mapped[str] = mapped_column(String(255))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str | None] = mapped_column(String(64))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    used_at: Mapped[datetime | None]

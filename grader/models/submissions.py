"""Tables of submissions, announced uploads, extra submissions and questions about scores."""

import enum
from datetime import date, datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, String, Text, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum
from grader.models.competitions import Competition
from grader.models.people import User
from grader.models.teams import Team
from grader.ranking.selection import SubmissionKind


class SubmissionStatus(enum.StrEnum):
    """`rejected` is the file's fault, `failed` is ours."""

    PENDING = "pending"
    SCORED = "scored"
    REJECTED = "rejected"
    FAILED = "failed"


class Submission(Base):
    """An accepted upload. `problems` and `notes` are what the file reader answered.

    `slot_day` is the UTC day whose limit it uses, None where it uses none: a pending file holds a slot of the
    day of its acceptance, a rejected or failed one gives it back. The bytes of a rejected file are kept for a
    day at most; `file_deleted_at` is when this row gave them up. `was_checked`: found clean before it was
    accepted.
    """

    __tablename__ = "submission"
    __table_args__ = (
        UniqueConstraint("team_id", "idempotency_key"),
        Index("ix_submission_team_id_slot_day", "team_id", "slot_day"),
        Index("ix_submission_competition_id_status", "competition_id", "status"),
        Index("ix_submission_competition_id_kind", "competition_id", "kind"),
        Index("ix_submission_team_id_submitted_at", "team_id", "submitted_at"),
        # The console counts the files of each day from the index alone.
        Index("ix_submission_by_day", "competition_id", "submitted_at", "status"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    sha256: Mapped[str] = mapped_column(String(64))
    size_bytes: Mapped[int]
    file_name: Mapped[str] = mapped_column(String(255))
    description: Mapped[str] = mapped_column(Text, default="")
    status: Mapped[SubmissionStatus] = mapped_column(stored_enum(SubmissionStatus, name="status"))
    submitted_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    problems: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    notes: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    incident: Mapped[str | None] = mapped_column(String(16))
    kind: Mapped[SubmissionKind] = mapped_column(
        stored_enum(SubmissionKind, name="kind"), default=SubmissionKind.NORMAL, server_default="normal"
    )
    is_selected: Mapped[bool] = mapped_column(default=False, server_default=false())
    was_checked: Mapped[bool] = mapped_column(default=False, server_default=false())
    slot_day: Mapped[date | None]
    file_deleted_at: Mapped[datetime | None]
    idempotency_key: Mapped[str | None] = mapped_column(String(128))

    competition: Mapped[Competition] = relationship()
    team: Mapped[Team] = relationship()
    user: Mapped[User] = relationship()


class SubmissionGrant(Base):
    """Raises one UTC day's limit and the total limit by `count`: a team's, or without a team everybody's."""

    __tablename__ = "submission_grant"
    __table_args__ = (Index("ix_submission_grant_competition_id_team_id", "competition_id", "team_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    team_id: Mapped[int | None] = mapped_column(ForeignKey("team.id"))
    day: Mapped[date]
    count: Mapped[int]
    reason: Mapped[str] = mapped_column(Text)
    granted_at: Mapped[datetime]


class Dispute(Base):
    """One question about one submission's score; it is open until it is answered."""

    __tablename__ = "dispute"
    __table_args__ = (Index("ix_dispute_competition_id_answered_at", "competition_id", "answered_at"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.id"), index=True)
    asked_by_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    asked_at: Mapped[datetime]
    question: Mapped[str] = mapped_column(Text)
    answer: Mapped[str] = mapped_column(Text, default="", server_default="")
    answered_by_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))
    answered_at: Mapped[datetime | None]

    submission: Mapped[Submission] = relationship()
    asked_by: Mapped[User] = relationship(foreign_keys=[asked_by_id])
    answered_by: Mapped[User | None] = relationship(foreign_keys=[answered_by_id])


class AnnouncedUpload(Base):
    """A file that a person announced; a submission's belongs to a competition, an organizer's to none yet.

    `parts` are the blobs that have come so far, each with its length; `sha256` is the whole file.
    """

    __tablename__ = "announced_upload"

    id: Mapped[int] = mapped_column(primary_key=True)
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"), index=True)
    competition_id: Mapped[int | None] = mapped_column(ForeignKey("competition.id"), index=True)
    name: Mapped[str] = mapped_column(String(255))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    parts: Mapped[list[list[Any]]] = mapped_column(JSON, default=list)
    sha256: Mapped[str | None] = mapped_column(String(64))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    used_at: Mapped[datetime | None]

    @property
    def received_bytes(self) -> int:
        """How many bytes of the file are stored, from its beginning."""
        return self.size_bytes if self.sha256 else sum(int(size) for _, size in self.parts)

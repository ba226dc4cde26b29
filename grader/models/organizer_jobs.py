"""Table for organizers' background jobs."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum
from grader.models.competitions import Competition
from grader.models.people import User
from grader.models.scoring import JobState


class OrganizerJobKind(enum.StrEnum):
    """Kinds of background jobs.

    - `check` and `settings` check an uploaded solution and changed settings.
    - `solution` writes the file of a published solution.
    - `data` scans data files for labels.
    - `compare` compares two submissions of a team on the same rows.
    - `errors` computes the standard errors of the files that count.
    """

    CHECK = "check"
    SOLUTION = "solution"
    SETTINGS = "settings"
    DATA = "data"
    COMPARE = "compare"
    ERRORS = "errors"


class OrganizerJob(Base):
    """A background job, claimed and retried like a scoring job.

    `progress` contains the current values of `done`, `total` and `words`. `problems` contains the reasons for
    a rejection. `dismissed_at` is set when an organizer hides the job. `is_python` means that the job runs a
    metric written in Python.
    """

    __tablename__ = "organizer_job"
    __table_args__ = (
        Index("ix_organizer_job_state_available_at", "state", "available_at"),
        Index("ix_organizer_job_competition_id_kind", "competition_id", "kind"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    kind: Mapped[OrganizerJobKind] = mapped_column(stored_enum(OrganizerJobKind, name="kind"))
    parameters: Mapped[dict[str, Any]]
    is_python: Mapped[bool] = mapped_column(default=False)
    state: Mapped[JobState] = mapped_column(stored_enum(JobState, name="state"))
    created_by_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[datetime]
    available_at: Mapped[datetime]
    lease_until: Mapped[datetime | None]
    token: Mapped[str | None] = mapped_column(String(32))
    holder: Mapped[str | None] = mapped_column(String(120))
    attempt_count: Mapped[int] = mapped_column(default=0)
    error_count: Mapped[int] = mapped_column(default=0)
    progress: Mapped[dict[str, Any]] = mapped_column(default=dict)
    result: Mapped[dict[str, Any]] = mapped_column(default=dict)
    problems: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    incident: Mapped[str | None] = mapped_column(String(16))
    finished_at: Mapped[datetime | None]
    dismissed_at: Mapped[datetime | None]

    competition: Mapped[Competition] = relationship()
    created_by: Mapped[User | None] = relationship()

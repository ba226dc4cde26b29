"""Table for organizers' background jobs."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.models.competitions import Competition
from grader.models.people import User
from grader.models.scoring import JobState, LeasedJob


class OrganizerJobKind(enum.StrEnum):
    """Kinds of background jobs.

    - `check` and `settings` check an uploaded solution and changed settings.
    - `data` scans data files for labels.
    - `compare` compares two submissions of a team on the same rows.
    - `errors` computes the standard errors of the files that count.
    """

    CHECK = "check"
    SETTINGS = "settings"
    DATA = "data"
    COMPARE = "compare"
    ERRORS = "errors"


class OrganizerJob(LeasedJob):
    """A background job, claimed and retried like a scoring job.

    `progress` contains the current values of `done`, `total` and `words`. `dismissed_at` is set when an
    organizer hides the job. `is_python` means that the job runs a metric written in Python.
    """

    __tablename__ = "organizer_job"
    __table_args__ = (
        Index("ix_organizer_job_state_available_at", "state", "available_at"),
        Index("ix_organizer_job_competition_id_kind", "competition_id", "kind"),
        {"sqlite_autoincrement": True},
    )

    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    kind: Mapped[OrganizerJobKind]
    parameters: Mapped[dict[str, Any]]
    is_python: Mapped[bool] = mapped_column(default=False)
    created_by_id: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))
    progress: Mapped[dict[str, Any]] = mapped_column(default=dict)
    result: Mapped[dict[str, Any]] = mapped_column(default=dict)
    dismissed_at: Mapped[datetime | None]

    competition: Mapped[Competition] = relationship()
    created_by: Mapped[User | None] = relationship()

    @property
    def is_final(self) -> bool:
        """Whether the job is neither waiting nor running."""
        return self.state not in (JobState.WAITING, JobState.CLAIMED)

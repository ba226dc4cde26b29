"""Scheduling of custom metrics: one competition's files, or one user's checks, at a time.

Two turns run at once, but only one for each competition or user, so that an endless loop delays no other one.
"""

import time
from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, Select, or_, select
from sqlalchemy.orm import Session

from grader.models import ScoringJob, ScoringVersion, ScoringVersionState
from grader.services.site import leased_rows, organizer_jobs
from grader.services.submissions.scoring_jobs import IS_PYTHON

_IS_LATER = ScoringVersion.state == ScoringVersionState.PREPARING
AT_ONCE = 2

Subject = tuple[str, int]
"""The id of a competition with files, or of a user with checks."""


class PythonTurns:
    """The starts of turns, as known to the sweeper."""

    def __init__(self) -> None:
        self._started_at = dict[Subject, float]()

    def take(self, session: Session, now: datetime, *, busy: Collection[Subject]) -> Subject | None:
        """Return the subject whose last turn was longest ago, those with live work first, or None.

        `busy` subjects have a turn already.
        """
        files = _jobs(now).with_only_columns(ScoringVersion.competition_id, _IS_LATER).distinct()
        waiting: list[tuple[bool, Subject]] = [
            (is_later, ("competition", competition_id)) for competition_id, is_later in session.execute(files)
        ]
        users = session.scalars(organizer_jobs.python_checks(now).distinct())
        waiting += [(False, ("user", user_id or 0)) for user_id in users]
        idle = [
            (is_later, self._started_at.get(subject, 0.0), subject)
            for is_later, subject in waiting
            if subject not in busy
        ]
        if not idle:
            return None
        *_, subject = min(idle)
        self._started_at[subject] = time.monotonic()
        return subject


def are_waiting(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a job of a metric written in Python can be claimed."""
    return or_(_jobs(now).exists(), organizer_jobs.python_checks(now).exists())


def next_job(session: Session, *, competition_id: int, now: datetime) -> int | None:
    """Return the id of a competition's next job, first those of the live version."""
    jobs = _jobs(now).where(ScoringVersion.competition_id == competition_id)
    return session.scalar(jobs.order_by(_IS_LATER, ScoringJob.available_at, ScoringJob.id).limit(1))


def _jobs(now: datetime) -> Select[int]:
    in_use = ScoringVersion.state.in_((ScoringVersionState.LIVE, ScoringVersionState.PREPARING))
    return (
        select(ScoringJob.id)
        .join(ScoringJob.scoring_version)
        .where(
            IS_PYTHON,
            in_use,
            ScoringJob.state.in_(leased_rows.OPEN_STATES),
            leased_rows.is_free(ScoringJob, now),
        )
    )

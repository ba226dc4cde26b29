"""Scheduling of custom metrics: one competition's files, or one user's checks, at a time.

Several turns run at once, but only one for each competition or user. Therefore, an endless metric does not
delay those of others.
"""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.orm import Session

from grader.models import OrganizerJob, ScoringJob, ScoringVersion, ScoringVersionState
from grader.services.site import leased_rows, organizer_jobs
from grader.services.submissions.scoring_jobs import IS_PYTHON

AT_ONCE = 2

Subject = tuple[str, int]
"""The id of a competition with files, or of a user with checks."""


def are_waiting(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a job of a metric written in Python can be claimed."""
    return or_(_jobs(now).exists(), organizer_jobs.python_checks(now).exists())


def next_subject(session: Session, now: datetime, *, busy: Collection[Subject]) -> Subject | None:
    """Return the subject whose job has waited longest, those with live work first, or None.

    `busy` subjects have a turn already.
    """
    is_later = ScoringVersion.state == ScoringVersionState.PREPARING
    files = _jobs(now).with_only_columns(
        ScoringVersion.competition_id, is_later, func.min(ScoringJob.available_at)
    )
    waiting: list[tuple[bool, datetime, Subject]] = [
        (later, since, ("competition", competition_id))
        for competition_id, later, since in session.execute(
            files.group_by(ScoringVersion.competition_id, is_later)
        )
    ]
    checks = organizer_jobs.python_checks(now).add_columns(func.min(OrganizerJob.available_at))
    for user_id, since in session.execute(checks.group_by(OrganizerJob.created_by_id)):
        waiting.append((False, since, ("user", user_id or 0)))
    return min((each for each in waiting if each[-1] not in busy), default=(None,))[-1]


def next_job(session: Session, *, competition_id: int, now: datetime) -> int | None:
    """Return the id of a competition's next job, first those of the live version."""
    is_later = ScoringVersion.state == ScoringVersionState.PREPARING
    jobs = _jobs(now).where(ScoringVersion.competition_id == competition_id)
    return session.scalar(jobs.order_by(is_later, ScoringJob.available_at, ScoringJob.id).limit(1))


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

"""Scheduling of custom metrics: one competition's files, or one user's checks, at a time.

Two turns run at once, but only one for each competition or user, and only one of those whose last work was
slow, until several of their files in a row were fast. Therefore, fast work waits for at most one slow file of
each other.
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
SLOW_SECONDS = 5.0
START_SECONDS = 5.0  # of a sandbox, in addition to the first file
FAST_FILES = 5
SLOW = 101  # the exit code of a turn with a slow file; others are the number of files

Subject = tuple[str, int]
"""The id of a competition with files, or of a user with checks."""


class PythonTurns:
    """The ends of turns, as known to the sweeper."""

    def __init__(self) -> None:
        self._ended_at = dict[Subject, float]()
        self._fast_needed = dict[Subject, int]()

    def take(self, session: Session, now: datetime, *, busy: Collection[Subject]) -> Subject | None:
        """Return the subject that has waited longest, those with live work first, or None.

        `busy` subjects have a turn already. Only one subject that was slow has a turn at a time.
        """
        files = _jobs(now).with_only_columns(ScoringVersion.competition_id, _IS_LATER).distinct()
        waiting: list[tuple[bool, Subject]] = [
            (is_later, ("competition", competition_id)) for competition_id, is_later in session.execute(files)
        ]
        users = session.scalars(organizer_jobs.python_checks(now).distinct())
        waiting += [(False, ("user", user_id or 0)) for user_id in users]
        unusable = set(busy)
        if any(self._fast_needed.get(each) for each in busy):
            unusable |= {each for each, needed in self._fast_needed.items() if needed}
        usable = [
            (is_later, self._ended_at.get(subject, 0.0), subject)
            for is_later, subject in waiting
            if subject not in unusable
        ]
        return min(usable)[-1] if usable else None

    def end(self, subject: Subject, code: int) -> None:
        """Note the end of a turn with its exit code; a turn that was killed was slow."""
        needed = self._fast_needed.get(subject, 0)
        self._fast_needed[subject] = max(0, needed - code) if 0 <= code < SLOW else FAST_FILES
        self._ended_at[subject] = time.monotonic()


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

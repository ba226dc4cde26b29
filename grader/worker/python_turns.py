"""Scheduling of custom metrics: one competition's files, or one user's checks, at a time.

There are two lanes. A competition or user whose last work was slow uses only the first, until several files
in a row were fast. Therefore, fast work waits for at most one slow file of each other.
"""

import time
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, or_, select
from sqlalchemy.orm import Session

from grader.models import ScoringJob, ScoringVersion, ScoringVersionState
from grader.services.site import leased_rows, organizer_jobs
from grader.services.submissions.scoring_jobs import IS_PYTHON

SLOW_SECONDS = 5.0
START_SECONDS = 5.0  # of a sandbox, in addition to the first file
FAST_FILES = 5
SLOW = 101  # the exit code of a turn with a slow file; others are the number of files

Subject = tuple[str, int]
"""The id of a competition with files, or of a user with checks."""


def are_waiting(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a job of a metric written in Python can be claimed."""
    return or_(_versions(now).exists(), organizer_jobs.python_checks(now).exists())


def next_job(session: Session, *, competition_id: int, now: datetime) -> int | None:
    """Return the id of a competition's next job, first those of the live version."""
    return session.scalar(
        select(ScoringJob.id)
        .join(ScoringJob.scoring_version)
        .where(
            ScoringVersion.competition_id == competition_id,
            ScoringJob.state.in_(leased_rows.OPEN_STATES),
            leased_rows.is_free(ScoringJob, now),
        )
        .order_by(
            ScoringVersion.state == ScoringVersionState.PREPARING, ScoringJob.available_at, ScoringJob.id
        )
        .limit(1)
    )


def _versions(now: datetime) -> Select[int, bool]:
    jobs = select(ScoringJob.id).where(
        ScoringJob.scoring_version_id == ScoringVersion.id,
        ScoringJob.state.in_(leased_rows.OPEN_STATES),
        leased_rows.is_free(ScoringJob, now),
    )
    is_preparing = ScoringVersion.state == ScoringVersionState.PREPARING
    in_use = ScoringVersion.state.in_((ScoringVersionState.LIVE, ScoringVersionState.PREPARING))
    return select(ScoringVersion.competition_id, is_preparing).where(IS_PYTHON, in_use, jobs.exists())


@dataclass
class _Use:
    is_running: bool = False
    fast_needed: int = 0
    ended_at: float = 0.0


class PythonTurns:
    """The lanes in use by competitions and users, as known to the sweeper process."""

    def __init__(self) -> None:
        self._uses: dict[Subject, _Use] = {}

    def take(self, session: Session, now: datetime, *, with_slow: bool) -> Subject | None:
        """Return the subject that has waited longest, those with live work first, or None."""
        waiting: list[tuple[bool, Subject]] = [
            (is_later, ("competition", competition_id))
            for competition_id, is_later in session.execute(_versions(now))
        ]
        users = session.scalars(organizer_jobs.python_checks(now).distinct())
        waiting += [(False, ("user", user_id or 0)) for user_id in users]
        usable = [
            (is_later, use.ended_at, subject)
            for is_later, subject in waiting
            if not (use := self._uses.setdefault(subject, _Use())).is_running
            and (with_slow or not use.fast_needed)
        ]
        if not usable:
            return None
        _, _, subject = min(usable)
        self._uses[subject].is_running = True
        return subject

    def end(self, subject: Subject, code: int) -> None:
        """Note the end of a turn with its exit code."""
        use = self._uses[subject]
        use.is_running, use.ended_at = False, time.monotonic()
        # A turn that was killed was slow.
        use.fast_needed = max(0, use.fast_needed - code) if 0 <= code < SLOW else FAST_FILES

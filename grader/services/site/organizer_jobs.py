"""Organizers' background jobs (checks, solution files, comparisons): add, claim, extend, record."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, OrganizerError
from grader.models import Competition, JobState, OrganizerJob, OrganizerJobKind, User
from grader.services.site import leased_rows
from grader.services.site.leased_rows import Unfinished

LEASE = timedelta(seconds=60)
CHECKS = (OrganizerJobKind.CHECK, OrganizerJobKind.SETTINGS)  # short jobs that an organizer waits for
STATISTICS = (OrganizerJobKind.COMPARE, OrganizerJobKind.ERRORS)
LANES = {
    "checks": CHECKS,
    "organizers": tuple(kind for kind in OrganizerJobKind if kind not in (*CHECKS, *STATISTICS)),
    "statistics": STATISTICS,
}
"""The kinds of jobs by the lane that runs them one at a time, unless they run a metric written in Python."""
AWAITED = (*CHECKS, OrganizerJobKind.COMPARE)


class UnknownOrganizerJob(OrganizerError):
    """The competition has no job with this id."""

    public_name = "unknown_organizer_job"
    kind = ErrorKind.NOT_FOUND
    message = "There is no job {job_id}."


Result = dict[str, Any]
"""The result of successful work."""


def add(
    session: Session,
    *,
    competition: Competition,
    kind: OrganizerJobKind,
    now: datetime,
    parameters: Mapping[str, Any] | None = None,
    created_by: User | None = None,
    is_python: bool = False,
) -> OrganizerJob:
    """Add a job for the workers; jobs from the command line have no creator."""
    job = OrganizerJob(
        competition_id=competition.id,
        kind=kind,
        parameters=dict(parameters or {}),
        is_python=is_python,
        state=JobState.WAITING,
        created_by_id=created_by.id if created_by else None,
        created_at=now,
        available_at=now,
    )
    session.add(job)
    session.flush()
    return job


def get(
    session: Session, *, competition: Competition, job_id: int, kind: OrganizerJobKind | None = None
) -> OrganizerJob:
    """Return a competition's job with its creator; raise UnknownOrganizerJob."""
    job: OrganizerJob | None = session.scalar(
        _of(competition, kind).where(OrganizerJob.id == job_id).execution_options(populate_existing=True)
    )
    if job is None:
        raise UnknownOrganizerJob(job_id=job_id)
    return job


def newest(
    session: Session, *, competition: Competition, kind: OrganizerJobKind, limit: int = 1
) -> list[OrganizerJob]:
    """Return the newest jobs of a kind, without dismissed ones."""
    query = _of(competition, kind).where(OrganizerJob.dismissed_at.is_(None))
    return list(session.scalars(query.order_by(OrganizerJob.id.desc()).limit(limit)))


def broken(session: Session, *, competition: Competition) -> list[OrganizerJobKind]:
    """Return the kinds of jobs whose newest job failed with an internal error."""
    last = (
        select(func.max(OrganizerJob.id))
        .where(OrganizerJob.competition_id == competition.id, OrganizerJob.dismissed_at.is_(None))
        .group_by(OrganizerJob.kind)
    )
    failed = select(OrganizerJob.kind).where(OrganizerJob.id.in_(last), OrganizerJob.state == JobState.FAILED)
    return sorted(session.scalars(failed))


def dismiss(session: Session, *, job: OrganizerJob, now: datetime) -> None:
    """Dismiss a job; an open job ends without a result."""
    job.dismissed_at = now
    if not job.is_final:
        leased_rows.finish(job, JobState.FAILED, now=now)
    session.flush()


def are_waiting(now: datetime, *, lane: str) -> ColumnElement[bool]:
    """Return the condition under which `waiting` finds a job."""
    return _waiting(now, lane).exists()


def waiting(session: Session, *, lane: str, now: datetime) -> int | None:
    """Return the id of a lane's next job; jobs that users wait for come first."""
    first = OrganizerJob.kind.in_(AWAITED).desc()
    return session.scalar(
        _waiting(now, lane).order_by(first, OrganizerJob.available_at, OrganizerJob.id).limit(1)
    )


def next_check(session: Session, *, user_id: int | None, now: datetime) -> int | None:
    """Return the id of a user's next check of a metric written in Python."""
    checks = python_checks(now).with_only_columns(OrganizerJob.id)
    return session.scalar(
        checks.where(OrganizerJob.created_by_id.is_not_distinct_from(user_id)).order_by(OrganizerJob.id)
    )


def python_checks(now: datetime) -> Select[int | None]:
    """Return the users whose checks of metrics written in Python are waiting."""
    return select(OrganizerJob.created_by_id).where(
        leased_rows.is_free(OrganizerJob, now), OrganizerJob.is_python
    )


def _waiting(now: datetime, lane: str) -> Select[int]:
    return select(OrganizerJob.id).where(
        leased_rows.is_free(OrganizerJob, now), OrganizerJob.kind.in_(LANES[lane]), ~OrganizerJob.is_python
    )


def claim(session: Session, *, job_id: int, now: datetime, holder: str | None = None) -> OrganizerJob | None:
    """Claim a job that is waiting or whose lease has expired; return None if it is not available.

    The returned row has the token of the claim. A job that has lost its last lease fails instead.
    """
    is_free = OrganizerJob.id == job_id, leased_rows.is_free(OrganizerJob, now)
    query = select(OrganizerJob).where(*is_free).with_for_update().execution_options(populate_existing=True)
    job: OrganizerJob | None = session.scalar(query)
    if job is None:
        return None
    if leased_rows.has_lost_last_lease(job):
        leased_rows.give_up(job, now=now)
        session.flush()
        return None
    leased_rows.claim(session, OrganizerJob, *is_free, now=now, lease=LEASE, holder=holder, progress={})
    session.refresh(job)
    return job


def extend(
    session: Session,
    *,
    claim: OrganizerJob,
    now: datetime,
    progress: Mapping[str, Any] | None = None,
    has_stored: bool = False,
) -> bool:
    """Extend the lease of a claimed job and store its progress; return False for an outdated token.

    With `has_stored`, earlier lost leases are not counted: the next attempt continues from stored results.
    """
    job = _held(session, claim)
    if job is None:
        return False
    job.lease_until = now + LEASE
    if progress is not None:
        job.progress = dict(progress)
    if has_stored:
        job.attempt_count = job.error_count + 1
    session.flush()
    return True


def record(session: Session, *, claim: OrganizerJob, outcome: Result | Unfinished, now: datetime) -> bool:
    """Record the outcome of a claimed job; return False if the token is not current."""
    job = _held(session, claim)
    if job is None:
        return False
    if isinstance(outcome, dict):
        leased_rows.finish(job, JobState.DONE, now=now)
        job.result = outcome
    else:
        leased_rows.record(job, outcome, now=now)
    session.flush()
    return True


def _held(session: Session, claim: OrganizerJob) -> OrganizerJob | None:
    held = leased_rows.hold(session, OrganizerJob, job_ids=[claim.id], token=claim.token or "")
    return next(iter(held), None)


def _of(competition: Competition, kind: OrganizerJobKind | None) -> Select[OrganizerJob]:
    query = (
        select(OrganizerJob)
        .where(OrganizerJob.competition_id == competition.id)
        .options(joinedload(OrganizerJob.created_by))
    )
    return query if kind is None else query.where(OrganizerJob.kind == kind)

"""Organizers' background jobs (checks, diagnosis, bundle): add, claim under a lease, record, retry.

The work may take minutes, so its worker extends the lease again and again. A lost worker loses its lease and
another starts the job afresh; a late worker's token is old and its record changes nothing.
"""

import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, CursorResult, Select, and_, case, func, or_, select, update
from sqlalchemy.orm import Session, aliased, joinedload

from grader.errors import ErrorKind, OrganizerError
from grader.models import Competition, JobState, OrganizerJob, OrganizerJobKind, User
from grader.services.jobs.lease import OPEN_STATES, OUTAGE_DELAY, OUTAGE_PATIENCE, new_incident

LEASE = timedelta(seconds=60)
MAX_ERRORS = 2
CHECKS = (OrganizerJobKind.CHECK, OrganizerJobKind.SETTINGS)  # short, and an organizer waits for them
MAX_LOST_LEASES = 3
RETRY_DELAY = timedelta(seconds=10)

logger = logging.getLogger(__name__)


class UnknownOrganizerJob(OrganizerError):
    """The competition has no such job."""

    public_name = "unknown_organizer_job"
    kind = ErrorKind.NOT_FOUND
    message = "There is no job {job_id}."


@dataclass(frozen=True, slots=True)
class OrganizerClaim:
    """The right to record one job's result, what was asked, and what earlier attempts kept."""

    job_id: int
    token: str
    attempt: int
    kind: OrganizerJobKind
    competition_id: int
    parameters: dict[str, Any]
    kept: dict[str, Any]


def add(
    session: Session,
    *,
    competition: Competition,
    kind: OrganizerJobKind,
    parameters: Mapping[str, Any],
    created_by: User | None,
    now: datetime,
) -> OrganizerJob:
    """Add a job for the workers; the shell's has no creator."""
    job = OrganizerJob(
        competition_id=competition.id,
        kind=kind,
        parameters=dict(parameters),
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
    """Return a competition's job with its creator; raise UnknownOrganizerJob if it has none of the kind."""
    job: OrganizerJob | None = session.scalar(
        _of(competition, kind).where(OrganizerJob.id == job_id).execution_options(populate_existing=True)
    )
    if job is None:
        raise UnknownOrganizerJob(job_id=job_id)
    return job


def newest(
    session: Session, *, competition: Competition, kind: OrganizerJobKind, limit: int = 1
) -> list[OrganizerJob]:
    """Return the newest jobs of a kind that were not dismissed."""
    query = _of(competition, kind).where(OrganizerJob.dismissed_at.is_(None))
    return list(session.scalars(query.order_by(OrganizerJob.id.desc()).limit(limit)))


def broken(session: Session, *, competition: Competition) -> list[OrganizerJobKind]:
    """Return the kinds of job of which the newest one failed by an error on our side."""
    last = (
        select(func.max(OrganizerJob.id))
        .where(OrganizerJob.competition_id == competition.id, OrganizerJob.dismissed_at.is_(None))
        .group_by(OrganizerJob.kind)
    )
    failed = select(OrganizerJob.kind).where(OrganizerJob.id.in_(last), OrganizerJob.state == JobState.FAILED)
    return sorted(session.scalars(failed))


def is_open(job: OrganizerJob) -> bool:
    """Return whether a job still waits or is under way."""
    return job.state in OPEN_STATES


def dismiss(session: Session, *, job: OrganizerJob, now: datetime) -> None:
    """Put a job away; one that is open ends without a result."""
    job.dismissed_at = now
    if is_open(job):
        _finish(job, JobState.FAILED, now=now)
    session.flush()


def waiting(session: Session, *, limit: int, now: datetime, checks: bool | None = None) -> list[int]:
    """Return the ids of jobs that can be claimed, only checks of solutions and settings or only others.

    Competitions take turns: the first is the one whose last turn (a job that ended or was handed back) is the
    longest ago, so that nobody's jobs keep those of others waiting.
    """
    other = aliased(OrganizerJob)
    is_check = OrganizerJob.kind.in_(CHECKS)
    turn_ended_at = case(
        (other.finished_at.is_not(None), other.finished_at),
        (other.available_at > other.created_at, other.available_at),
    )
    last_turn = (
        select(func.max(turn_ended_at))
        .where(other.competition_id == OrganizerJob.competition_id, other.kind.in_(CHECKS) == is_check)
        .scalar_subquery()
    )
    query = select(OrganizerJob.id).where(_free(now))
    if checks is not None:
        query = query.where(is_check if checks else ~is_check)
    first = (is_check.desc(), last_turn.asc().nulls_first())
    query = query.order_by(*first, OrganizerJob.available_at, OrganizerJob.id)
    return list(session.scalars(query.limit(limit)))


def claim(
    session: Session, *, job_id: int, now: datetime, lease: timedelta = LEASE, holder: str | None = None
) -> OrganizerClaim | None:
    """Take a job that waits or whose lease ran out; None if there is nothing to do.

    A job that lost its third lease becomes failed instead. `holder` names the process that claims.
    """
    job = session.scalar(
        select(OrganizerJob)
        .where(OrganizerJob.id == job_id, _free(now))
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    if job is None:
        return None
    if job.attempt_count - job.error_count >= MAX_LOST_LEASES:
        incident = new_incident()
        logger.error("Incident %s: organizers' job %s lost %s leases.", incident, job.id, MAX_LOST_LEASES)
        _finish(job, JobState.FAILED, now=now, incident=incident)
        session.flush()
        return None
    job.state, job.lease_until, job.token = JobState.CLAIMED, now + lease, secrets.token_hex(16)
    job.holder = holder
    job.attempt_count += 1
    job.progress = {}
    session.flush()
    return OrganizerClaim(
        job_id=job.id,
        token=job.token,
        attempt=job.attempt_count,
        kind=job.kind,
        competition_id=job.competition_id,
        parameters=job.parameters,
        kept=job.result,
    )


def extend(
    session: Session,
    *,
    claim: OrganizerClaim,
    now: datetime,
    lease: timedelta = LEASE,
    progress: Mapping[str, Any] | None = None,
) -> bool:
    """Keep a claimed job for longer, and note how far it is; False if the token is not current."""
    values: dict[str, Any] = {"lease_until": now + lease}
    if progress is not None:
        values["progress"] = dict(progress)
    taken = session.execute(
        update(OrganizerJob)
        .where(
            OrganizerJob.id == claim.job_id,
            OrganizerJob.token == claim.token,
            OrganizerJob.state == JobState.CLAIMED,
        )
        .values(**values)
        .execution_options(synchronize_session=False)
    )
    return isinstance(taken, CursorResult) and taken.rowcount == 1


def hand_back(session: Session, *, claim: OrganizerClaim, now: datetime) -> None:
    """Let a claimed job wait again, behind those that wait; nothing if the token is not current."""
    job = _hold(session, claim)
    if job is not None:
        job.state, job.available_at = JobState.WAITING, now
        job.lease_until = job.token = None
        job.attempt_count -= 1
        session.flush()


def keep(session: Session, *, claim: OrganizerClaim, result: Mapping[str, Any]) -> bool:
    """Save intermediate results for the next attempt; False if the token is not current.

    Work that gets on is not given up for the leases it lost before.
    """
    job = _hold(session, claim)
    if job is None:
        return False
    job.result = dict(result)
    job.attempt_count = job.error_count + 1
    session.flush()
    return True


def record_result(
    session: Session, *, claim: OrganizerClaim, result: Mapping[str, Any], now: datetime
) -> bool:
    """Write what came of a job; False if the token is not current."""
    job = _hold(session, claim)
    if job is None:
        return False
    _finish(job, JobState.DONE, now=now, result=result)
    session.flush()
    return True


def record_rejection(
    session: Session, *, claim: OrganizerClaim, problems: Sequence[dict[str, Any]], now: datetime
) -> bool:
    """Write why a job's work cannot be done; False if the token is not current."""
    job = _hold(session, claim)
    if job is None:
        return False
    _finish(job, JobState.REJECTED, now=now, problems=problems)
    session.flush()
    return True


def record_error(session: Session, *, claim: OrganizerClaim, incident: str, now: datetime) -> bool:
    """Write that the work broke: the job waits for another try, or has failed with its second error.

    Returns False if the token is not current.
    """
    job = _hold(session, claim)
    if job is None:
        return False
    job.error_count += 1
    if job.error_count >= MAX_ERRORS:
        _finish(job, JobState.FAILED, now=now, incident=incident)
    else:
        job.state, job.available_at = JobState.WAITING, now + RETRY_DELAY
        job.lease_until = job.token = None
    session.flush()
    return True


def record_outage(session: Session, *, claim: OrganizerClaim, now: datetime) -> bool:
    """Write that the storage could not be read: the job waits, and for a day that is no error of its work.

    Returns False if the token is not current.
    """
    job = _hold(session, claim)
    if job is None:
        return False
    if now - job.created_at >= OUTAGE_PATIENCE:
        incident = new_incident()
        logger.error("Incident %s: the storage could not be read for job %s all day.", incident, job.id)
        return record_error(session, claim=claim, incident=incident, now=now)
    job.state, job.available_at = JobState.WAITING, now + OUTAGE_DELAY
    job.lease_until = job.token = None
    job.attempt_count -= 1
    session.flush()
    return True


def _of(competition: Competition, kind: OrganizerJobKind | None) -> Select[OrganizerJob]:
    query = (
        select(OrganizerJob)
        .where(OrganizerJob.competition_id == competition.id)
        .options(joinedload(OrganizerJob.created_by))
    )
    return query if kind is None else query.where(OrganizerJob.kind == kind)


def _free(now: datetime) -> ColumnElement[bool]:
    return or_(
        and_(OrganizerJob.state == JobState.WAITING, OrganizerJob.available_at <= now),
        and_(OrganizerJob.state == JobState.CLAIMED, OrganizerJob.lease_until <= now),
    )


def _hold(session: Session, claim: OrganizerClaim) -> OrganizerJob | None:
    return session.scalar(
        select(OrganizerJob)
        .where(
            OrganizerJob.id == claim.job_id,
            OrganizerJob.token == claim.token,
            OrganizerJob.state == JobState.CLAIMED,
        )
        .with_for_update()
        .execution_options(populate_existing=True)
    )


def _finish(
    job: OrganizerJob,
    state: JobState,
    *,
    now: datetime,
    result: Mapping[str, Any] | None = None,
    problems: Sequence[dict[str, Any]] = (),
    incident: str | None = None,
) -> None:
    job.state = state
    job.finished_at = now
    job.lease_until = job.token = None
    job.result, job.problems, job.incident = dict(result or {}), list(problems), incident

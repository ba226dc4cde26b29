"""Leases for all queues: claims, retries with backoff, takeover from dead processes.

A claim reserves a row until its lease ends. If the holder dies, another process claims the row. If the first
holder is merely late, its token is outdated and it records nothing.

Scoring jobs and organizers' jobs have a state, a lease and a random token. E-mails (`mail.outbox`) have only
the time of their next attempt (`available_at`). A claim moves this time to the end of the lease, and the
number of the attempt is the token.
"""

import logging
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, and_, exists, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.base import ExecutableOption

from grader.models import JobState, LeasedJob, OrganizerJob, ScoringJob

OPEN_STATES = (JobState.WAITING, JobState.CLAIMED)
# While the storage is unavailable, attempts are not counted until a time limit is reached.
OUTAGE_DELAY = timedelta(seconds=10)
OUTAGE_PATIENCE = timedelta(hours=24)

AnyJob = TypeVar("AnyJob", ScoringJob, OrganizerJob)
Queue = type[ScoringJob] | type[OrganizerJob]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rejection:
    """The work cannot be done, for the reasons in `problems`."""

    problems: Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The work failed with an exception, which is logged under the incident id."""

    incident: str


@dataclass(frozen=True, slots=True)
class Outage:
    """The storage could not be read."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The work failed for reasons that another attempt would not change, such as an error of the metric."""

    problems: Sequence[dict[str, Any]]


Unfinished = Rejection | Breakdown | Outage | Failure


# The pauses after errors; a job fails with the next error.
ERROR_PAUSES: Mapping[type[LeasedJob], Sequence[timedelta]] = {
    ScoringJob: (timedelta(seconds=10), timedelta(seconds=60)),
    OrganizerJob: (timedelta(seconds=10),),
}
# A job fails when it loses its last lease. A job that continues from its interim results loses a lease at
# each restart of its process.
LOST_LEASES = 10
# A job with more lost leases may be killing its holders. It is claimed again only after its lease ends, so
# that a brief shortage of memory does not make a file fail.
FREED_AT_ONCE = 3


def new_incident() -> str:
    """Return a new incident id for logging an internal error."""
    return secrets.token_hex(4)


def is_free(queue: Queue, now: datetime, older_than: timedelta = timedelta()) -> ColumnElement[bool]:
    """Return the condition that a job has waited for `older_than` or its lease has expired."""
    return or_(
        and_(queue.state == JobState.WAITING, queue.available_at <= now - older_than),
        and_(queue.state == JobState.CLAIMED, queue.lease_until <= now),
    )


def claim(
    session: Session,
    queue: Queue,
    *conditions: ColumnElement[bool],
    now: datetime,
    lease: timedelta,
    holder: str | None,
    **values: Any,
) -> tuple[str, int] | None:
    """Claim all jobs that meet the conditions; return their token and attempt, or None if there are none."""
    token = secrets.token_hex(16)
    attempt = session.scalars(
        update(queue)
        .where(*conditions)
        .values(
            state=JobState.CLAIMED,
            lease_until=now + lease,
            token=token,
            holder=holder,
            attempt_count=queue.attempt_count + 1,
            **values,
        )
        .returning(queue.attempt_count)
        .execution_options(synchronize_session=False)
    ).all()
    return (token, attempt[0]) if attempt else None


def hold(
    session: Session,
    queue: type[AnyJob],
    *,
    job_ids: Sequence[int],
    token: str,
    options: Sequence[ExecutableOption] = (),
) -> Sequence[AnyJob]:
    """Lock claimed jobs, and return those that the holder of the token still holds."""
    return session.scalars(
        select(queue)
        .where(queue.id.in_(job_ids), queue.token == token, queue.state == JobState.CLAIMED)
        .options(*options)
        .order_by(queue.id)
        .with_for_update(of=queue)
        .execution_options(populate_existing=True)
    ).all()


def wait(job: LeasedJob, *, until: datetime | None = None, is_counted: bool = True) -> None:
    """Return a held job to the queue, optionally as if the attempt had never been made."""
    job.state = JobState.WAITING
    job.lease_until = job.token = None
    job.available_at = until or job.available_at
    if not is_counted:
        job.attempt_count -= 1


def finish(
    job: LeasedJob,
    state: JobState,
    *,
    now: datetime,
    problems: Sequence[dict[str, Any]] = (),
    incident: str | None = None,
) -> None:
    """Finish a job."""
    job.state = state
    job.finished_at = now
    job.lease_until = job.token = None
    job.problems, job.incident = list(problems), incident


def record(job: LeasedJob, outcome: Unfinished, *, now: datetime) -> None:
    """Record a failed attempt of a held job, which then waits for the next attempt or fails."""
    match outcome:
        case Rejection(problems):
            finish(job, JobState.REJECTED, now=now, problems=problems)
        case Failure(problems):
            finish(job, JobState.FAILED, now=now, problems=problems)
        case Outage() if now - job.created_at < OUTAGE_PATIENCE:
            wait(job, until=now + OUTAGE_DELAY, is_counted=False)
        case Outage():
            incident = new_incident()
            logger.error("Incident %s: storage could not be read for %s for a day.", incident, _named(job))
            record(job, Breakdown(incident), now=now)
        case Breakdown(incident):
            pauses = ERROR_PAUSES[type(job)]
            job.error_count += 1
            if job.error_count > len(pauses):
                finish(job, JobState.FAILED, now=now, incident=incident)
            else:
                wait(job, until=now + pauses[job.error_count - 1])


def has_lost_last_lease(job: LeasedJob) -> bool:
    """Return whether a job cannot be claimed again."""
    return job.attempt_count - job.error_count >= LOST_LEASES


def give_up(job: LeasedJob, *, now: datetime) -> None:
    """Mark a locked job that has lost its last lease as failed."""
    incident = new_incident()
    logger.error("Incident %s: %s failed after losing %s leases.", incident, _named(job), LOST_LEASES)
    finish(job, JobState.FAILED, now=now, incident=incident)


def _named(job: LeasedJob) -> str:
    return f"{type(job).__name__} {job.id}"


def are_held(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a claim with an unexpired lease exists on any machine."""
    return or_(
        *(
            exists().where(queue.state == JobState.CLAIMED, queue.lease_until > now)
            for queue in (ScoringJob, OrganizerJob)
        )
    )


def holders(session: Session, *, machine: str, now: datetime) -> set[str]:
    """Return the processes of a machine that hold claims with unexpired leases."""
    holder_names: set[str] = set()
    for queue in (ScoringJob, OrganizerJob):
        names = select(queue.holder).where(
            queue.state == JobState.CLAIMED,
            queue.lease_until > now,
            queue.holder.startswith(f"{machine}/", autoescape=True),
        )
        holder_names.update(name for name in session.scalars(names.distinct()) if name is not None)
    return holder_names


def free(session: Session, *, holders: Collection[str], now: datetime) -> int:
    """End the leases of dead processes; return the number of freed claims.

    A freed claim counts as a lost lease. It keeps its token until the next claim, so a process that is still
    alive can record its result.
    """
    count = 0
    for queue in (ScoringJob, OrganizerJob):
        freed = session.scalars(
            update(queue)
            .where(
                queue.state == JobState.CLAIMED,
                queue.lease_until > now,
                queue.holder.in_(holders),
                queue.attempt_count - queue.error_count <= FREED_AT_ONCE,
            )
            .values(lease_until=now)
            .returning(queue.id)
            .execution_options(synchronize_session=False)
        )
        count += len(freed.all())
    return count

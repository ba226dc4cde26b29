"""Scoring queue: waiting and overdue jobs, signs of active workers, retries of failed submissions.

Failed submissions are retried hourly or on request. They stay `failed` until an attempt succeeds.
"""

import enum
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import Competition, JobState, ScoringJob, ScoringVersion, ScoringVersionState, Submission
from grader.services.competitions.acting import Act
from grader.services.site import leased_rows

# The sweeper claims jobs after ten seconds, so if a job has waited for a minute, no sweeper is running.
STALLED_AFTER = timedelta(seconds=60)
RETRY_INTERVAL = timedelta(hours=1)
RETRIED_FOR = timedelta(hours=24)
_IS_LIVE = ScoringVersion.state == ScoringVersionState.LIVE


class HealthSign(enum.StrEnum):
    """The state of the installation's workers and sweeper."""

    IDLE = "idle"
    WORKING = "working"
    STALLED = "stalled"


@dataclass(frozen=True, slots=True)
class VersionQueue:
    """The number of a scoring version's jobs by state."""

    number: int
    state: ScoringVersionState
    reason: str
    counts: Mapping[JobState, int]


@dataclass(frozen=True, slots=True)
class Health:
    """A competition's queues, the workers' state, and the time when a job last ended."""

    queues: tuple[VersionQueue, ...]
    sign: HealthSign
    last_finished_at: datetime | None


def of_competition(session: Session, *, competition: Competition, now: datetime) -> Health:
    """Return the queues of the scoring versions in use, the live one first, and the workers' state."""
    versions = session.scalars(
        select(ScoringVersion)
        .where(
            ScoringVersion.competition_id == competition.id,
            ScoringVersion.state.in_((ScoringVersionState.LIVE, ScoringVersionState.PREPARING)),
        )
        .order_by(ScoringVersion.state != ScoringVersionState.LIVE, ScoringVersion.number)
    ).all()
    counts: dict[int, dict[JobState, int]] = defaultdict(dict)
    for version_id, state, count in session.execute(
        select(ScoringJob.scoring_version_id, ScoringJob.state, func.count())  # read from an index alone
        .where(ScoringJob.scoring_version_id.in_([version.id for version in versions]))
        .group_by(ScoringJob.scoring_version_id, ScoringJob.state)
    ):
        counts[version_id][state] = count
    queues = tuple(VersionQueue(each.number, each.state, each.reason, counts[each.id]) for each in versions)
    sign, last, _ = sign_of_life(session, now)
    return Health(queues, sign, last)


def sign_of_life(session: Session, now: datetime) -> tuple[HealthSign, datetime | None, datetime | None]:
    """Return the workers' state, the time when a job last ended, and the time since which a job is overdue.

    A job is overdue if it has waited for a minute during which no job was claimed or finished.
    """
    last = session.scalar(select(func.max(ScoringJob.finished_at)))
    waiting = select(func.min(ScoringJob.available_at)).where(
        ScoringJob.state == JobState.WAITING, ScoringJob.available_at <= now
    )
    lost = select(func.min(ScoringJob.lease_until)).where(
        ScoringJob.state == JobState.CLAIMED, ScoringJob.lease_until <= now
    )
    held = select(func.count()).where(ScoringJob.state == JobState.CLAIMED, ScoringJob.lease_until > now)
    free_since = min(filter(None, (session.scalar(waiting), session.scalar(lost))), default=None)
    is_held = bool(session.scalar(held))
    if free_since is None:
        return (HealthSign.WORKING if is_held else HealthSign.IDLE), last, None
    works = is_held or (last is not None and now - last < STALLED_AFTER)
    is_stalled = not works and now - free_since > STALLED_AFTER
    return (
        (HealthSign.STALLED if is_stalled else HealthSign.WORKING),
        last,
        free_since if is_stalled else None,
    )


def retry(act: Act, *, submission_id: int | None = None) -> list[int]:
    """Retry a failed submission, or all of them, and return the job ids; raise OrganizerRefusal."""
    is_wanted = [] if submission_id is None else [ScoringJob.submission_id == submission_id]
    failed = _failed_in(act.competition).where(*is_wanted).order_by(ScoringJob.id)
    jobs = act.session.scalars(failed.with_for_update(of=ScoringJob)).all()
    if not jobs:
        message = "No submission has failed."
        if submission_id is not None:
            message = f"Submission #{submission_id} has not failed, so it cannot be retried."
        raise OrganizerRefusal("nothing_failed", ErrorKind.CONFLICT, message)
    _restart(jobs, error_count=0, attempt_count=0, now=act.now)
    count = len({job.submission_id for job in jobs})
    subject = "1 failed submission" if count == 1 else f"{count:,} failed submissions"
    incidents = sorted({job.incident for job in jobs if job.incident})[:20]
    act.record(
        "submission.retry",
        subject if submission_id is None else f"submission {submission_id}",
        before={"incidents": incidents},
        after={"jobs": len(jobs)},
    )
    return [job.id for job in jobs]


def count_failed(session: Session, *, competition: Competition) -> int:
    """Return the number of submissions that `retry` would retry."""
    count = func.count(ScoringJob.submission_id.distinct())
    return session.scalar(_failed_in(competition).with_only_columns(count)) or 0


def is_being_scored(session: Session, *, submission: Submission) -> bool:
    """Return whether a worker has claimed a submission under a live version."""
    is_its = ScoringJob.submission_id == submission.id
    claimed = _jobs(is_its, _IS_LIVE, ScoringJob.state == JobState.CLAIMED)
    return session.scalar(claimed.with_only_columns(ScoringJob.id)) is not None


def retry_failed(session: Session, *, now: datetime) -> int:
    """Retry jobs that failed on the server, hourly for a day; return their number.

    Each retry allows only one attempt, so that a file that always breaks scoring does not cause a loop.
    """
    broken = _jobs(
        _IS_LIVE,
        ScoringJob.state == JobState.FAILED,
        ScoringJob.incident.is_not(None),  # the metric would fail again
        ScoringJob.finished_at <= now - RETRY_INTERVAL,
        ScoringJob.created_at > now - RETRIED_FOR,
    )
    jobs = session.scalars(broken.with_for_update(of=ScoringJob, skip_locked=True)).all()
    errors = len(leased_rows.ERROR_PAUSES[ScoringJob])
    _restart(jobs, error_count=errors, attempt_count=errors + leased_rows.LOST_LEASES - 1, now=now)
    session.flush()
    return len(jobs)


def _restart(jobs: Sequence[ScoringJob], *, error_count: int, attempt_count: int, now: datetime) -> None:
    for job in jobs:
        job.state, job.available_at = JobState.WAITING, now
        job.error_count, job.attempt_count = error_count, attempt_count


def _failed_in(competition: Competition) -> Select[ScoringJob]:
    in_use = ScoringVersion.state.in_((ScoringVersionState.LIVE, ScoringVersionState.PREPARING))
    is_its = ScoringVersion.competition_id == competition.id
    return _jobs(is_its, in_use, ScoringJob.state == JobState.FAILED)


def _jobs(*conditions: ColumnElement[bool]) -> Select[ScoringJob]:
    return select(ScoringJob).join(ScoringJob.scoring_version).where(*conditions)

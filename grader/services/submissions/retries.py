"""Retries of failed submissions, hourly or on request."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.orm import Session

from grader.errors import OrganizerError
from grader.models import Competition, JobState, ScoringJob, ScoringVersion, ScoringVersionState, Submission
from grader.services.competitions.acting import Act
from grader.services.submissions import scoring_jobs as scoring

_IN_USE = (ScoringVersionState.LIVE, ScoringVersionState.PREPARING)


class NothingFailed(OrganizerError):
    """Only failed submissions can be retried."""

    public_name = "nothing_failed"

    def __init__(self, submission_id: int | None = None) -> None:
        what = "" if submission_id is None else f"Submission #{submission_id} has not failed, so it"
        super().__init__(
            "No submission has failed." if submission_id is None else f"{what} cannot be retried."
        )


def retry(act: Act, *, submission_id: int) -> list[int]:
    """Reset the attempts of a failed submission and return its job ids; raise NothingFailed."""
    jobs = _restart(act, ScoringJob.submission_id == submission_id)
    if not jobs:
        raise NothingFailed(submission_id)
    _record(act, f"submission {submission_id}", jobs)
    return [job.id for job in jobs]


def retry_all(act: Act) -> list[int]:
    """Reset the attempts of all failed submissions and return the job ids; raise NothingFailed."""
    jobs = _restart(act)
    if not jobs:
        raise NothingFailed
    count = len({job.submission_id for job in jobs})
    subject = "1 failed submission" if count == 1 else f"{count:,} failed submissions"
    _record(act, subject, jobs)
    return [job.id for job in jobs]


def count_failed(session: Session, *, competition: Competition) -> int:
    """Return the number of submissions that `retry_all` would retry."""
    count = func.count(ScoringJob.submission_id.distinct())
    jobs = _failed(competition).with_only_columns(count).order_by(None)
    return session.scalar(jobs) or 0


def _failed(competition: Competition) -> Select[ScoringJob]:
    return (
        select(ScoringJob)
        .join(ScoringVersion, ScoringVersion.id == ScoringJob.scoring_version_id)
        .join(Submission, Submission.id == ScoringJob.submission_id)
        .where(
            ScoringVersion.competition_id == competition.id,
            ScoringVersion.state.in_(_IN_USE),
            ScoringJob.state == JobState.FAILED,
        )
        .order_by(ScoringJob.id)
    )


def _restart(act: Act, *conditions: ColumnElement[bool]) -> Sequence[ScoringJob]:
    """Reset failed jobs; their submissions stay `failed` until an attempt succeeds."""
    query = _failed(act.competition).where(*conditions)
    jobs = act.session.scalars(query.with_for_update(of=ScoringJob)).all()
    for job in jobs:
        job.state = JobState.WAITING
        job.available_at = act.now
        job.error_count = job.attempt_count = 0
    return jobs


def _record(act: Act, subject: str, jobs: Sequence[ScoringJob]) -> None:
    incidents = sorted({job.incident for job in jobs if job.incident})[:20]
    act.record("submission.retry", subject, before={"incidents": incidents}, after={"jobs": len(jobs)})


RETRY_INTERVAL = timedelta(hours=1)


RETRIED_FOR = timedelta(hours=24)


def is_being_scored(session: Session, *, submission: Submission) -> bool:
    """Return whether a worker has claimed a submission under a live version."""
    job = (
        select(ScoringJob.id)
        .join(ScoringJob.scoring_version)
        .where(
            ScoringJob.submission_id == submission.id,
            ScoringJob.state == JobState.CLAIMED,
            ScoringVersion.state == ScoringVersionState.LIVE,
        )
    )
    return session.scalar(job) is not None


def is_retry_due(session: Session, *, now: datetime) -> bool:
    """Return whether `retry_failed` would retry a job."""
    return session.scalar(_failed_jobs(now).with_only_columns(ScoringJob.id).limit(1)) is not None


def retry_failed(session: Session, *, now: datetime) -> int:
    """Retry jobs that failed on the server, hourly for a day; return their number.

    The submission stays `failed` until an attempt succeeds. Each retry allows only one attempt, so that a
    file that always breaks scoring does not cause a loop.
    """
    jobs = session.scalars(_failed_jobs(now).with_for_update(of=ScoringJob, skip_locked=True)).all()
    for job in jobs:
        job.state = JobState.WAITING
        job.available_at = now
        job.error_count = scoring.LIMITS.errors - 1
        job.attempt_count = job.error_count + scoring.LIMITS.lost_leases - 1
    session.flush()
    return len(jobs)


def _failed_jobs(now: datetime) -> Select[ScoringJob]:
    return (
        select(ScoringJob)
        .join(ScoringJob.scoring_version)
        .where(
            ScoringVersion.state == ScoringVersionState.LIVE,
            ScoringJob.state == JobState.FAILED,
            ScoringJob.incident.is_not(None),  # the metric would fail again
            ScoringJob.finished_at <= now - RETRY_INTERVAL,
            ScoringJob.created_at > now - RETRIED_FOR,
        )
    )

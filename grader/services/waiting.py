"""The wait of submissions: their place in the queue, and another try for those that failed by our fault."""

from datetime import datetime, timedelta

from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.orm import Session

from grader.models import JobState, ScoringJob, ScoringVersion, ScoringVersionState, Submission
from grader.services import lease, scoring

# A shorter wait is over before anybody has read a number.
TOLD_AFTER = timedelta(seconds=10)
RETRY_INTERVAL = timedelta(hours=1)
RETRIED_FOR = timedelta(hours=24)


def queue_position(session: Session, *, submission: Submission, now: datetime) -> int | None:
    """Return a submission's place among all that wait for a live board, 1 for the next one.

    None if it does not wait, or not for longer than ten seconds.
    """
    if now - submission.submitted_at <= TOLD_AFTER:
        return None
    waits = (ScoringVersion.state == ScoringVersionState.LIVE, ScoringJob.state.in_(lease.OPEN_STATES))
    jobs = select(ScoringJob).join(ScoringJob.scoring_version).where(*waits)
    own = session.scalar(jobs.where(ScoringJob.submission_id == submission.id))
    if own is None:
        return None
    is_ahead = or_(
        ScoringJob.created_at < own.created_at,
        and_(ScoringJob.created_at == own.created_at, ScoringJob.id < own.id),
    )
    ahead = select(func.count()).select_from(ScoringJob).join(ScoringJob.scoring_version)
    return (session.scalar(ahead.where(*waits, is_ahead)) or 0) + 1


def is_retry_due(session: Session, *, now: datetime) -> bool:
    """Tell whether `retry_failed` has something to do."""
    return session.scalar(_failed(now).with_only_columns(ScoringJob.id).limit(1)) is not None


def retry_failed(session: Session, *, now: datetime) -> int:
    """Give jobs that failed by our fault another try, each hour for a day; return how many.

    The submission stays `failed` until a try succeeds. A try that breaks or loses its lease is the last one
    of its hour, so that a file on which scoring always breaks is no loop.
    """
    jobs = session.scalars(_failed(now).with_for_update(of=ScoringJob, skip_locked=True)).all()
    for job in jobs:
        job.state = JobState.WAITING
        job.available_at = now
        job.error_count = scoring.MAX_ERRORS - 1
        job.attempt_count = job.error_count + scoring.MAX_LOST_LEASES - 1
    session.flush()
    return len(jobs)


def _failed(now: datetime) -> Select[ScoringJob]:
    return (
        select(ScoringJob)
        .join(ScoringJob.scoring_version)
        .where(
            ScoringVersion.state == ScoringVersionState.LIVE,
            ScoringJob.state == JobState.FAILED,
            ScoringJob.finished_at <= now - RETRY_INTERVAL,
            ScoringJob.created_at > now - RETRIED_FOR,
        )
    )

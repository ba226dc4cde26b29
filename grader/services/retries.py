"""Retries: an organizer's new try for submissions that failed by our fault."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from grader import db
from grader.errors import OrganizerError
from grader.models import Competition, JobState, ScoringJob, ScoringVersion, ScoringVersionState, Submission
from grader.services import audit, competitions
from grader.services.audit import Actor

_IN_USE = (ScoringVersionState.LIVE, ScoringVersionState.PREPARING)


class NothingFailed(OrganizerError):
    """Only what has failed can be tried again."""

    public_name = "nothing_failed"

    def __init__(self, submission_id: int | None = None) -> None:
        what = "No submission" if submission_id is None else f"Submission #{submission_id} has not failed: it"
        super().__init__(
            "No submission has failed." if submission_id is None else f"{what} cannot be tried again."
        )


def retry(
    session: Session,
    *,
    competition: Competition,
    submission_id: int,
    actor: Actor,
    now: datetime | None = None,
) -> list[int]:
    """Give a failed submission all its tries again; return its jobs, to be hinted. Raises NothingFailed."""
    jobs = _restart(session, competition, ScoringJob.submission_id == submission_id, now=now)
    if not jobs:
        raise NothingFailed(submission_id)
    _record(session, competition, f"submission {submission_id}", jobs, actor, now)
    return [job.id for job in jobs]


def retry_all(
    session: Session, *, competition: Competition, actor: Actor, now: datetime | None = None
) -> list[int]:
    """Give all failed submissions their tries again; return the jobs to hint. Raises NothingFailed."""
    jobs = _restart(session, competition, now=now)
    if not jobs:
        raise NothingFailed
    count = len({job.submission_id for job in jobs})
    subject = "1 failed submission" if count == 1 else f"{count:,} failed submissions"
    _record(session, competition, subject, jobs, actor, now)
    return [job.id for job in jobs]


def count_failed(session: Session, *, competition: Competition) -> int:
    """Return how many submissions `retry_all` would try again."""
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


def _restart(
    session: Session, competition: Competition, *conditions: object, now: datetime | None
) -> Sequence[ScoringJob]:
    """The submission stays `failed` until a try succeeds: what it shows is what is known."""
    competitions.lock(session, competition_id=competition.id)
    now = now or db.now(session)
    query = _failed(competition).where(*conditions)  # type: ignore[arg-type]
    jobs = session.scalars(query.with_for_update(of=ScoringJob)).all()
    for job in jobs:
        job.state = JobState.WAITING
        job.available_at = now
        job.error_count = job.attempt_count = 0
    session.flush()
    return jobs


def _record(
    session: Session,
    competition: Competition,
    subject: str,
    jobs: Sequence[ScoringJob],
    actor: Actor,
    now: datetime | None,
) -> None:
    audit.record(
        session,
        competition=competition,
        actor=actor,
        action="submission.retry",
        subject=subject,
        before={"incidents": sorted({job.incident for job in jobs if job.incident})[:20]},
        after={"jobs": len(jobs)},
        now=now or db.now(session),
    )

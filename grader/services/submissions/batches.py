"""Batches of rescoring jobs, claimed under one lease and recorded together.

Jobs that lost a lease are claimed individually, so that one file cannot make the others in its batch fail.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.models import (
    JobState,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
)
from grader.services.site import leased_rows
from grader.services.solutions import intake
from grader.services.submissions import scoring_jobs as scoring
from grader.services.submissions.scoring_jobs import Claim, Outcome

# `leased_rows.is_free` implies this condition. In this form, the index on a version's jobs finds the open
# jobs directly.
_IS_OPEN = ScoringJob.state.in_(leased_rows.OPEN_STATES)


def are_unattended(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a version has open jobs and no process works on it."""
    jobs = select(ScoringJob.id).where(ScoringJob.scoring_version_id == ScoringVersion.id)
    is_worked_on = jobs.where(ScoringJob.state == JobState.CLAIMED, ScoringJob.lease_until > now).exists()
    return _waiting(now).where(~is_worked_on).exists()


def are_forgotten(session: Session, *, now: datetime, since: timedelta) -> bool:
    """Return whether the next version has made no progress for some time."""
    recent = select(ScoringJob.id).where(
        ScoringJob.scoring_version_id == next_version(session, now=now),
        or_(ScoringJob.finished_at > now - since, ScoringJob.available_at.between(now - since, now)),
    )
    return session.scalar(recent.limit(1)) is None


def next_version(session: Session, *, now: datetime) -> int | None:
    """Return the first scoring version in preparation with open jobs."""
    return session.scalar(_waiting(now).order_by(ScoringVersion.id).limit(1))


def _waiting(now: datetime) -> Select[int]:
    jobs = select(ScoringJob.id).where(
        ScoringJob.scoring_version_id == ScoringVersion.id, _IS_OPEN, leased_rows.is_free(ScoringJob, now)
    )
    return select(ScoringVersion.id).where(
        ScoringVersion.state == ScoringVersionState.PREPARING, ~scoring.IS_PYTHON, jobs.exists()
    )


def claim(
    session: Session,
    *,
    scoring_version_id: int,
    limit: int,
    lease: timedelta,
    now: datetime,
    holder: str | None = None,
) -> list[Claim]:
    """Claim up to `limit` jobs of a version in preparation under one token; empty if there are none.

    Jobs with earlier attempts are claimed one at a time.
    """
    version = session.get(ScoringVersion, scoring_version_id)
    if version is None:
        return []
    jobs = _of(scoring_version_id, now)
    # The jobs are not sorted, because sorting all waiting jobs would take longer than claiming a batch.
    claimed = session.scalars(
        jobs.where(_IS_OPEN, ScoringJob.attempt_count == 0)
        .options(joinedload(ScoringJob.submission))
        .limit(limit)
        .with_for_update(of=ScoringJob, skip_locked=True)
    ).all()
    if claimed:
        return _take(session, claimed, lease=lease, now=now, holder=holder)
    tried = session.scalars(jobs.where(_IS_OPEN).with_only_columns(ScoringJob.id).limit(limit)).all()
    claims = (scoring.claim(session, job_id=job_id, lease=lease, now=now, holder=holder) for job_id in tried)
    first = next((each for each in claims if each is not None), None)
    return [] if first is None else [first]


def record(
    session: Session, *, claims: Sequence[Claim], outcomes: Mapping[int, Outcome], now: datetime
) -> int:
    """Record outcomes by job id and return their number; return jobs without an outcome to the queue."""
    held = scoring.hold(session, job_ids=[each.job_id for each in claims], token=claims[0].token)
    if held is None:
        return 0
    competition, jobs = held
    finished = [(job, outcomes[job.id]) for job in jobs if job.id in outcomes]
    for job in jobs:
        if job.id not in outcomes:
            leased_rows.wait(job, is_counted=False)
    scoring.write_outcomes(session, competition=competition, outcomes=finished, now=now)
    return len(finished)


def _of(scoring_version_id: int, now: datetime) -> Select[ScoringJob]:
    return (
        select(ScoringJob)
        .join(ScoringJob.scoring_version)
        .where(
            ScoringVersion.id == scoring_version_id,
            ScoringVersion.state == ScoringVersionState.PREPARING,
            ScoringJob.scoring_version_id == scoring_version_id,
            leased_rows.is_free(ScoringJob, now),
        )
    )


def _take(
    session: Session,
    jobs: Sequence[ScoringJob],
    *,
    lease: timedelta,
    now: datetime,
    holder: str | None,
) -> list[Claim]:
    ids = [job.id for job in jobs]
    taken = leased_rows.claim(
        session, ScoringJob, ScoringJob.id.in_(ids), now=now, lease=lease, holder=holder
    )
    if taken is None:
        return []
    token, attempt = taken
    names = intake.other_labels(session, competition_id=jobs[0].scoring_version.competition_id)
    return [scoring.claim_of(job, token=token, attempt=attempt, other_labels=names) for job in jobs]

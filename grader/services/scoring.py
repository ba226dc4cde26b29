"""The discipline of scoring jobs: a row is the job, a claim is a lease, a record needs the current token.

A lost worker loses its lease and another claims the job; a late worker's token is old and its record changes
nothing. Scoring the same file twice gives the same bits, so that every job has exactly one result.
"""

import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, update
from sqlalchemy.orm import Session

from grader.leaderboard import standings
from grader.leaderboard.standings import Entry
from grader.metrics import BiasReport, PairCounts
from grader.models import (
    Competition,
    JobState,
    Score,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Split,
    SubmissionKind,
    SubmissionStatus,
)
from grader.services import limits, result_notices, standing_rows
from grader.services.rules import Rules

MAX_ERRORS = 3
MAX_LOST_LEASES = 10
RETRY_DELAYS = (timedelta(seconds=10), timedelta(seconds=60))

OPEN_STATES = (JobState.WAITING, JobState.CLAIMED)

logger = logging.getLogger(__name__)

STATUS_OF = {
    JobState.DONE: SubmissionStatus.SCORED,
    JobState.REJECTED: SubmissionStatus.REJECTED,
    JobState.FAILED: SubmissionStatus.FAILED,
}

Data = Sequence[dict[str, Any]]
Results = Mapping[Split, tuple[PairCounts, BiasReport]]


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to record one job's result, and all that is needed to compute it."""

    job_id: int
    token: str
    attempt: int
    submission_id: int
    scoring_version_id: int
    submission_sha256: str
    row_ids_sha256: str
    prepared_sha256: str
    rules: Rules


def add_job(session: Session, *, submission_id: int, scoring_version_id: int, now: datetime) -> ScoringJob:
    """Add the job of scoring a submission under a scoring version."""
    job = ScoringJob(
        submission_id=submission_id,
        scoring_version_id=scoring_version_id,
        state=JobState.WAITING,
        created_at=now,
        available_at=now,
    )
    session.add(job)
    session.flush()
    return job


def claim(session: Session, *, job_id: int, lease: timedelta, now: datetime) -> Claim | None:
    """Take a job that waits or whose lease ran out; None if there is nothing to do.

    A job that lost its tenth lease becomes failed instead.
    """
    job = session.get(ScoringJob, job_id)
    if job is None:
        return None
    if _is_free(job, now) and job.attempt_count - job.error_count >= MAX_LOST_LEASES:
        _give_up(session, job, now=now)
        return None
    token = secrets.token_hex(16)
    taken = session.execute(
        update(ScoringJob)
        .where(ScoringJob.id == job_id, _free(now))
        .values(
            state=JobState.CLAIMED,
            lease_until=now + lease,
            token=token,
            attempt_count=ScoringJob.attempt_count + 1,
        )
        .returning(ScoringJob.attempt_count)
        .execution_options(synchronize_session=False)
    ).scalar()
    if taken is None:
        return None
    version = job.scoring_version
    return Claim(
        job_id=job_id,
        token=token,
        attempt=taken,
        submission_id=job.submission_id,
        scoring_version_id=job.scoring_version_id,
        submission_sha256=job.submission.sha256,
        row_ids_sha256=version.solution.row_ids_sha256,
        prepared_sha256=version.solution.prepared_sha256,
        rules=Rules.from_dict(version.metric_settings),
    )


def waiting(session: Session, *, older_than: timedelta, limit: int, now: datetime) -> list[int]:
    """Return the ids of jobs that wait longer than `older_than` or lost their lease, live boards first."""
    query = (
        select(ScoringJob.id)
        .join(ScoringJob.scoring_version)
        .where(_free(now, older_than))
        .order_by(ScoringVersion.state != ScoringVersionState.LIVE, ScoringJob.available_at, ScoringJob.id)
        .limit(limit)
    )
    return list(session.scalars(query))


def oldest_open(session: Session) -> datetime | None:
    """Return since when the oldest unfinished job exists, None if there is none."""
    return session.scalar(select(func.min(ScoringJob.created_at)).where(ScoringJob.state.in_(OPEN_STATES)))


def record_scores(
    session: Session, *, job_id: int, token: str, results: Results, notes: Data, now: datetime
) -> bool:
    """Write the scores of both splits and the team's standings; False if the token is not current."""
    held = _hold(session, job_id, token)
    if held is None:
        return False
    competition, job = held
    for split in Split:
        session.add(_score(job, split, *results[split], now=now))
    _finish(session, competition, job, JobState.DONE, notes=notes, now=now)
    session.flush()
    if job.submission.kind is SubmissionKind.NORMAL:
        _update_standings(session, competition, job, _displayed(results))
    return True


def record_rejection(session: Session, *, job_id: int, token: str, problems: Data, now: datetime) -> bool:
    """Write that the file cannot be scored, and why; False if the token is not current."""
    held = _hold(session, job_id, token)
    if held is None:
        return False
    _finish(session, *held, JobState.REJECTED, problems=problems, now=now)
    session.flush()
    return True


def record_error(session: Session, *, job_id: int, token: str, incident: str, now: datetime) -> bool:
    """Write that scoring broke: the job waits for another try, or has failed with its third error.

    Returns False if the token is not current.
    """
    held = _hold(session, job_id, token)
    if held is None:
        return False
    competition, job = held
    job.error_count += 1
    if job.error_count >= MAX_ERRORS:
        _finish(session, competition, job, JobState.FAILED, incident=incident, now=now)
    else:
        job.state = JobState.WAITING
        job.available_at = now + RETRY_DELAYS[job.error_count - 1]
        job.lease_until = job.token = None
    session.flush()
    return True


def show_result(job: ScoringJob) -> None:
    """Give a submission the status, the problems and the notes of its finished job under the live version."""
    submission = job.submission
    submission.status = STATUS_OF[job.state]
    submission.finished_at = job.finished_at
    submission.problems = job.problems
    submission.notes = job.notes
    submission.incident = job.incident
    limits.update_slot(submission)


def new_incident() -> str:
    """Return a new id under which an error of ours stands in the log."""
    return secrets.token_hex(4)


def _free(now: datetime, older_than: timedelta = timedelta()) -> ColumnElement[bool]:
    return or_(
        and_(ScoringJob.state == JobState.WAITING, ScoringJob.available_at <= now - older_than),
        and_(ScoringJob.state == JobState.CLAIMED, ScoringJob.lease_until <= now),
    )


def _is_free(job: ScoringJob, now: datetime) -> bool:
    if job.state is JobState.WAITING:
        return job.available_at <= now
    return job.state is JobState.CLAIMED and job.lease_until is not None and job.lease_until <= now


def _hold(session: Session, job_id: int, token: str) -> tuple[Competition, ScoringJob] | None:
    """Lock a claimed job for its holder; first its competition, so that no publication comes between."""
    competition = session.scalar(
        select(Competition)
        .join(ScoringVersion, ScoringVersion.competition_id == Competition.id)
        .join(ScoringJob, ScoringJob.scoring_version_id == ScoringVersion.id)
        .where(ScoringJob.id == job_id)
        .with_for_update(read=True, of=Competition)
        .execution_options(populate_existing=True)
    )
    job = session.scalar(
        select(ScoringJob)
        .where(ScoringJob.id == job_id, ScoringJob.token == token, ScoringJob.state == JobState.CLAIMED)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return None if competition is None or job is None else (competition, job)


def _give_up(session: Session, job: ScoringJob, *, now: datetime) -> None:
    held = _hold(session, job.id, job.token or "")
    if held is not None and _is_free(held[1], now):
        incident = new_incident()
        logger.error("Incident %s: job %s lost %s leases and has failed.", incident, job.id, MAX_LOST_LEASES)
        _finish(session, *held, JobState.FAILED, incident=incident, now=now)
        session.flush()


def _finish(
    session: Session,
    competition: Competition,
    job: ScoringJob,
    state: JobState,
    *,
    now: datetime,
    problems: Data = (),
    notes: Data = (),
    incident: str | None = None,
) -> None:
    job.state = state
    job.finished_at = now
    job.lease_until = job.token = None
    job.problems, job.notes, job.incident = list(problems), list(notes), incident
    if competition.live_scoring_version_id == job.scoring_version_id:
        show_result(job)
        result_notices.tell_result(session, submission=job.submission, now=now)


def _score(job: ScoringJob, split: Split, counts: PairCounts, report: BiasReport, *, now: datetime) -> Score:
    return Score(
        submission_id=job.submission_id,
        scoring_version_id=job.scoring_version_id,
        split=split,
        score=report.score,
        **report.terms,
        counts=counts.as_dict(),
        created_at=now,
    )


def _displayed(results: Results) -> int:
    score = results[Split.PUBLIC][1].score
    if score is None:
        raise ValueError("A scoring version without undefined cells gave no score.")
    return standings.score_units(score)


def _update_standings(session: Session, competition: Competition, job: ScoringJob, score_units: int) -> None:
    submission = job.submission
    entry = Entry(submission.team_id, submission.id, score_units, submission.submitted_at)
    standing_rows.enter(session, entry=entry, scoring_version_id=job.scoring_version_id)
    if competition.settled_at is not None:
        standing_rows.rebuild(session, competition=competition, team_ids=[entry.team_id])

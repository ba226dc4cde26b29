"""Scoring jobs: creation, claims of one or a batch under a lease, outcomes, status.

Scoring the same file twice produces the same bits, so every job has exactly one result. The jobs of a version
in preparation are claimed in batches. Those that lost a lease are claimed individually, so that one file
cannot make the others in its batch fail.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Insert, Select, func, insert, literal, or_, select
from sqlalchemy.orm import Session, joinedload

from fairboard.interface import MetricResult
from grader.metrics import registry
from grader.models import (
    MAIN_BOARD,
    Competition,
    JobState,
    Score,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Solution,
    Split,
    Submission,
    SubmissionStatus,
)
from grader.ranking.order import TeamEntry
from grader.services.competitions import lookup, organizers
from grader.services.leaderboards import rows, shown_scores
from grader.services.site import leased_rows, letters
from grader.services.site.leased_rows import OPEN_STATES, Unfinished
from grader.services.site.outbox import Notice
from grader.services.solutions import intake
from grader.services.teams import limits

Results = Mapping[Split, MetricResult]
# The time that a metric written in Python may take, and the start of its sandbox, in addition to reading.
PYTHON_SECONDS = 150
# A problem's text for organizers only, which may contain labels.
LOG = "log"
IS_PYTHON = func.coalesce(ScoringVersion.metric_settings[registry.TAG].as_string(), "") == registry.PYTHON

# `leased_rows.is_free` implies this condition. In this form, the index on a version's jobs finds the open
# jobs directly.
_IS_OPEN = ScoringJob.state.in_(OPEN_STATES)

STATUS_OF = {
    JobState.DONE: SubmissionStatus.SCORED,
    JobState.REJECTED: SubmissionStatus.REJECTED,
    JobState.FAILED: SubmissionStatus.FAILED,
}

Data = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Scores:
    """The outcome of a file that could be scored."""

    results: Results
    notes: Data


Outcome = Scores | Unfinished


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to record the result of a job, with the data needed to compute it."""

    job_id: int
    token: str
    attempt: int
    submission_id: int
    scoring_version_id: int
    competition_id: int
    submission_sha256: str
    row_ids_sha256: str
    prepared_sha256: str
    metric_settings: Mapping[str, Any]
    other_labels: tuple[str, ...] = ()
    known_problems: tuple[dict[str, Any], ...] | None = None  # set if the file has been deleted
    accepted_at: datetime | None = None  # the time of the job, if it is claimed alone


def add_jobs(
    session: Session, *, submission: Submission, competition: Competition, now: datetime
) -> tuple[int, ...]:
    """Add jobs under the live version and any version in preparation; return their ids."""
    is_preparing = ScoringVersion.state == ScoringVersionState.PREPARING
    missing = missing_jobs(
        now,
        Submission.id == submission.id,
        or_(ScoringVersion.id == lookup.live(competition).id, is_preparing),
    )
    return tuple(sorted(session.scalars(missing.returning(ScoringJob.id))))


def missing_jobs(now: datetime, *conditions: ColumnElement[bool]) -> Insert:
    """Return the statement that adds the missing jobs of these submissions and versions."""
    has_job = select(ScoringJob.id).where(
        ScoringJob.submission_id == Submission.id, ScoringJob.scoring_version_id == ScoringVersion.id
    )
    values = {
        "state": JobState.WAITING,
        "created_at": now,
        "available_at": now,
        "attempt_count": 0,
        "error_count": 0,
        "problems": [],
        "notes": [],
    }
    columns = ScoringJob.__table__.c
    same = (literal(value, columns[name].type) for name, value in values.items())
    pairs = (
        select(Submission.id, ScoringVersion.id, *same)
        .join(ScoringVersion, ScoringVersion.competition_id == Submission.competition_id)
        .where(*conditions, ~has_job.exists())
        .order_by(Submission.id, ScoringVersion.id)
    )
    return insert(ScoringJob).from_select(["submission_id", "scoring_version_id", *values], pairs)


def claim(
    session: Session,
    *,
    job_id: int,
    lease: timedelta,
    now: datetime,
    holder: str | None = None,
    is_python: bool | None = None,
) -> Claim | None:
    """Claim a job that is waiting or whose lease has expired; return None if it is not available.

    A job that has lost its last lease fails instead. If `is_python` is not None, only jobs whose metric is,
    or is not, written in Python are available.
    """
    job = session.get(
        ScoringJob,
        job_id,
        options=[
            joinedload(ScoringJob.submission),
            joinedload(ScoringJob.scoring_version)
            .joinedload(ScoringVersion.solution)
            .load_only(Solution.row_ids_sha256, Solution.prepared_sha256),
        ],
    )
    if job is None or is_python not in (None, registry.is_python(job.scoring_version.metric_settings)):
        return None
    if leased_rows.has_lost_last_lease(job) and _give_up(session, job, now=now):
        return None
    taken = _take(session, [job], lease=lease, now=now, holder=holder)
    return replace(taken[0], accepted_at=job.created_at) if taken else None


def claim_batch(
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
    jobs = (
        select(ScoringJob)
        .join(ScoringJob.scoring_version)
        .where(
            ScoringVersion.id == scoring_version_id,
            ScoringVersion.state == ScoringVersionState.PREPARING,
            ScoringJob.scoring_version_id == scoring_version_id,
            leased_rows.is_free(ScoringJob, now),
            _IS_OPEN,
        )
        .limit(limit)
    )
    # The jobs are not sorted, because sorting all waiting jobs would take longer than claiming a batch.
    untried = session.scalars(
        jobs.where(ScoringJob.attempt_count == 0)
        .options(joinedload(ScoringJob.submission))
        .with_for_update(of=ScoringJob, skip_locked=True)
    ).all()
    if untried:
        return _take(session, untried, lease=lease, now=now, holder=holder)
    for job_id in session.scalars(jobs.with_only_columns(ScoringJob.id)).all():
        if claimed := claim(session, job_id=job_id, lease=lease, now=now, holder=holder):
            return [claimed]
    return []


def _take(
    session: Session,
    jobs: Sequence[ScoringJob],
    *,
    lease: timedelta,
    now: datetime,
    holder: str | None,
) -> list[Claim]:
    """Claim the jobs that are free under one token."""
    is_one = ScoringJob.id.in_([job.id for job in jobs])
    is_free = leased_rows.is_free(ScoringJob, now)
    taken = leased_rows.claim(session, ScoringJob, is_one, is_free, now=now, lease=lease, holder=holder)
    if taken is None:
        return []
    token, attempt = taken
    version = jobs[0].scoring_version
    names = intake.other_labels(session, competition_id=version.competition_id)
    return [
        Claim(
            job_id=job.id,
            token=token,
            attempt=attempt,
            submission_id=job.submission_id,
            scoring_version_id=version.id,
            competition_id=version.competition_id,
            submission_sha256=job.submission.sha256,
            row_ids_sha256=version.solution.row_ids_sha256,
            prepared_sha256=version.solution.prepared_sha256,
            metric_settings=version.metric_settings,
            other_labels=names,
            known_problems=tuple(job.submission.problems) if job.submission.file_deleted_at else None,
        )
        for job in jobs
    ]


def are_waiting(now: datetime, older_than: timedelta) -> ColumnElement[bool]:
    """Return the condition that `waiting` returns a job."""
    return _waiting(now, older_than).exists()


def waiting(session: Session, *, older_than: timedelta, limit: int, now: datetime) -> list[int]:
    """Return the ids of overdue jobs of live versions, and of those with a lost lease.

    Other processes claim the jobs of rescorings and of metrics written in Python.
    """
    query = _waiting(now, older_than).order_by(ScoringJob.available_at, ScoringJob.id).limit(limit)
    return list(session.scalars(query))


def _waiting(now: datetime, older_than: timedelta) -> Select[int]:
    return (
        select(ScoringJob.id)
        .join(ScoringJob.scoring_version)
        .where(
            leased_rows.is_free(ScoringJob, now, older_than),
            ScoringVersion.state != ScoringVersionState.PREPARING,
            ~IS_PYTHON,
        )
    )


def are_unattended(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a version has open jobs and no process works on it."""
    jobs = select(ScoringJob.id).where(ScoringJob.scoring_version_id == ScoringVersion.id)
    is_worked_on = jobs.where(ScoringJob.state == JobState.CLAIMED, ScoringJob.lease_until > now).exists()
    return _preparing(now).where(~is_worked_on).exists()


def next_version(session: Session, *, now: datetime) -> int | None:
    """Return the first scoring version in preparation with open jobs."""
    return session.scalar(_preparing(now).order_by(ScoringVersion.id).limit(1))


def _preparing(now: datetime) -> Select[int]:
    jobs = select(ScoringJob.id).where(
        ScoringJob.scoring_version_id == ScoringVersion.id, _IS_OPEN, leased_rows.is_free(ScoringJob, now)
    )
    return select(ScoringVersion.id).where(
        ScoringVersion.state == ScoringVersionState.PREPARING, ~IS_PYTHON, jobs.exists()
    )


def oldest_pending(session: Session) -> datetime | None:
    """Return the time since which the oldest pending submission has waited; ignore rescorings and retries."""
    return session.scalar(
        select(func.min(ScoringJob.created_at))
        .join(ScoringJob.scoring_version)
        .join(ScoringJob.submission)
        .where(
            ScoringVersion.state == ScoringVersionState.LIVE,
            ScoringJob.state.in_(OPEN_STATES),
            Submission.status == SubmissionStatus.PENDING,
        )
    )


def record(
    session: Session,
    *,
    job_ids: Sequence[int],
    token: str,
    outcomes: Mapping[int, Outcome],
    now: datetime,
) -> int:
    """Record outcomes by job id and return their number, which is 0 if the token is not current.

    Jobs without an outcome return to the queue.
    """
    held = hold(session, job_ids=job_ids, token=token)
    if held is None:
        return 0
    competition, jobs = held
    for job in jobs:
        outcome = outcomes.get(job.id)
        if outcome is None:
            leased_rows.wait(job, is_counted=False)
            continue
        job.notes = []
        if isinstance(outcome, Scores):
            session.add_all(_score(job, split, outcome.results[split], now=now) for split in Split)
            leased_rows.finish(job, JobState.DONE, now=now)
            job.notes = list(outcome.notes)
        else:
            leased_rows.record(job, outcome, now=now)
        if job.state in STATUS_OF:
            _tell_end(session, competition, job)
    session.flush()
    if scored := [job for job in jobs if job.state is JobState.DONE]:
        enter_standings(session, competition=competition, jobs=scored)
    return sum(job.id in outcomes for job in jobs)


def hold(
    session: Session, *, job_ids: Sequence[int], token: str
) -> tuple[Competition, Sequence[ScoringJob]] | None:
    """Lock the competition, which prevents a concurrent publication, and the jobs that are still held."""
    competition = session.scalar(
        select(Competition)
        .join(ScoringVersion, ScoringVersion.competition_id == Competition.id)
        .join(ScoringJob, ScoringJob.scoring_version_id == ScoringVersion.id)
        .where(ScoringJob.id.in_(job_ids))
        .limit(1)
        .with_for_update(read=True, of=Competition)
        .options(joinedload(Competition.live_scoring_version))  # for the scale of its scores
        .execution_options(populate_existing=True)
    )
    options = [joinedload(ScoringJob.submission).joinedload(Submission.user)]
    jobs = leased_rows.hold(session, ScoringJob, job_ids=job_ids, token=token, options=options)
    return None if competition is None or not jobs else (competition, jobs)


def show_result(job: ScoringJob) -> None:
    """Copy the outcome of a finished job under the live version to its submission."""
    submission = job.submission
    submission.status = STATUS_OF[job.state]
    submission.finished_at = job.finished_at
    submission.problems = [
        {name: each for name, each in problem.items() if name != LOG} for problem in job.problems
    ]
    submission.notes = job.notes
    submission.incident = job.incident
    limits.update_slot(submission)


def metric_log(session: Session, submission: Submission) -> str:
    """Return the output of a metric that failed under the live version, for organizers only."""
    if not limits.has_failed_metric(submission):
        return ""
    is_live = ScoringJob.scoring_version_id == lookup.live(submission.competition).id
    problems = session.scalar(
        select(ScoringJob.problems).where(ScoringJob.submission_id == submission.id, is_live)
    )
    return "\n".join(str(each.get(LOG, "")) for each in problems or ())


def _give_up(session: Session, job: ScoringJob, *, now: datetime) -> bool:
    held = hold(session, job_ids=[job.id], token=job.token or "")
    if held is None or job.lease_until is None or job.lease_until > now:
        return False
    leased_rows.give_up(job, now=now)
    session.flush()
    _tell_end(session, held[0], job)
    return True


def _tell_end(session: Session, competition: Competition, job: ScoringJob) -> None:
    """Show the result of a finished job under the live version, with e-mails."""
    if job.finished_at is None or competition.live_scoring_version_id != job.scoring_version_id:
        return
    show_result(job)
    _send_mail(session, submission=job.submission, now=job.finished_at)


def _send_mail(session: Session, *, submission: Submission, now: datetime) -> None:
    """E-mail the result to the submitter and failures to the organizers; never include a score."""
    competition = submission.competition
    count = len(submission.problems)
    letters.send(
        session,
        "result",
        [submission.user],
        kind=Notice.SCORED,
        key=f"{submission.status.value}:{submission.id}",
        competition=competition,
        submission=submission,
        problems="1 problem" if count == 1 else f"{count:,} problems",
        now=now,
    )
    if submission.status is SubmissionStatus.FAILED:
        letters.send(
            session,
            "scoring-failed",
            organizers.to_notify(session, competition=competition),
            kind=Notice.ORGANIZER,
            key=f"organizer-failed:{submission.id}",
            competition=competition,
            submission=submission,
            now=now,
        )


def enter_standings(session: Session, *, competition: Competition, jobs: Sequence[ScoringJob]) -> None:
    """Enter files scored under one version into the standings if they are their teams' best."""
    version_id, submission_ids = jobs[0].scoring_version_id, [job.submission_id for job in jobs]
    scored = shown_scores.scored(session, scoring_version_id=version_id, submission_ids=submission_ids)
    entries = defaultdict[str, list[TeamEntry]](list)
    for each in scored:
        for board in (MAIN_BOARD, *each.named):
            if entry := each.on(board, Split.PUBLIC):
                entries[board].append(entry)
    if entries:
        rows.enter(session, entries=entries, scoring_version_id=version_id)
    # The private standings of a version in preparation are written when it is published.
    if scored and competition.settled_at is not None and version_id == competition.live_scoring_version_id:
        rows.rebuild(session, competition=competition, team_ids={each.team_id for each in scored})


def _score(job: ScoringJob, split: Split, result: MetricResult, *, now: datetime) -> Score:
    return Score(
        submission_id=job.submission_id,
        scoring_version_id=job.scoring_version_id,
        split=split,
        score=result.score,
        terms=dict(result.terms),
        groups=dict(result.groups),
        evidence=dict(result.evidence),
        created_at=now,
    )

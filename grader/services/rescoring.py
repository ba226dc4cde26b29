"""Rescoring: all submissions scored beside the live version with a corrected solution, then one switch."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session, joinedload

from grader import db
from grader.errors import OrganizerError
from grader.models import (
    Competition,
    JobState,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Split,
    Submission,
    SubmissionStatus,
)
from grader.services import audit, competitions, final_boards, scoring, standing_rows
from grader.services.audit import Actor
from grader.services.solutions import StoredSolution

_RESCORED = (SubmissionStatus.SCORED, SubmissionStatus.PENDING, SubmissionStatus.FAILED)


class RescoringUnderWay(OrganizerError):
    """A competition prepares one scoring version at a time."""

    def __init__(self, version: ScoringVersion) -> None:
        super().__init__(
            f"Scoring version {version.number} is already being prepared (by {version.created_by}: "
            f"{version.reason}). Publish or drop it first."
        )
        self.version = version


class NotPreparing(OrganizerError):
    """Only a scoring version that is being prepared can be published or dropped."""

    def __init__(self, version: ScoringVersion) -> None:
        super().__init__(f"Scoring version {version.number} is {version.state}, not being prepared.")
        self.version = version


class RescoringIncomplete(OrganizerError):
    """Some submissions that are finished under the live version are not yet so under the new one."""

    def __init__(self, count: int) -> None:
        noun = "submission is" if count == 1 else "submissions are"
        super().__init__(f"{count:,} {noun} not yet scored under the new version.")
        self.count = count


class RescoringLosesScores(OrganizerError):
    """Submissions that have scores now would have none under the new version."""

    def __init__(self, count: int) -> None:
        noun = "submission that has a score would lose it" if count == 1 else "submissions would lose scores"
        super().__init__(
            f"{count:,} {noun}: scoring under the new version broke. The log has their incident ids."
        )
        self.count = count


@dataclass(frozen=True, slots=True)
class SolutionColumns:
    """The columns of the live solution, by which a corrected one is to be read."""

    label: str
    identities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a scoring version is: its jobs by state."""

    total: int
    done: int
    rejected: int
    failed: int

    @property
    def open(self) -> int:
        """Jobs that are not finished."""
        return self.total - self.finished

    @property
    def finished(self) -> int:
        """Jobs that have come to an end."""
        return self.done + self.rejected + self.failed


def columns(competition: Competition) -> SolutionColumns:
    """Return the columns by which a corrected solution of a competition is to be read."""
    report = competitions.live(competition).solution.report
    return SolutionColumns(report["label"], tuple(line["name"] for line in report["identities"]))


def prepare(
    session: Session,
    *,
    competition: Competition,
    solution: StoredSolution,
    reason: str,
    actor: Actor,
    now: datetime | None = None,
) -> ScoringVersion:
    """Make a scoring version with a job for every submission; raise RescoringUnderWay.

    Files that were rejected stay so: every solution of a competition has the same row ids. Submissions that
    arrive from now on get a job under both versions.
    """
    competition = competitions.lock(session, competition_id=competition.id)
    now = now or db.now(session)
    preparing = open_version(session, competition=competition)
    if preparing is not None:
        raise RescoringUnderWay(preparing)
    version = competitions.add_scoring_version(
        session,
        competition=competition,
        solution=solution,
        reason=reason,
        state=ScoringVersionState.PREPARING,
        created_by=actor.name,
        now=now,
    )
    submission_ids = session.scalars(
        select(Submission.id)
        .where(Submission.competition_id == competition.id, Submission.status.in_(_RESCORED))
        .order_by(Submission.id)
    )
    session.add_all(
        ScoringJob(
            submission_id=submission_id,
            scoring_version_id=version.id,
            state=JobState.WAITING,
            created_at=now,
            available_at=now,
        )
        for submission_id in submission_ids
    )
    session.flush()
    _record(session, competition, version, actor, "prepare", now=now)
    return version


def open_version(session: Session, *, competition: Competition) -> ScoringVersion | None:
    """Return the scoring version that is being prepared, None if there is none."""
    return session.scalar(
        select(ScoringVersion)
        .where(
            ScoringVersion.competition_id == competition.id,
            ScoringVersion.state == ScoringVersionState.PREPARING,
        )
        .options(joinedload(ScoringVersion.solution))
    )


def open_jobs(session: Session, *, scoring_version_id: int) -> list[int]:
    """Return the ids of a scoring version's unfinished jobs, the oldest first."""
    return list(
        session.scalars(
            select(ScoringJob.id)
            .where(
                ScoringJob.scoring_version_id == scoring_version_id,
                ScoringJob.state.in_(scoring.OPEN_STATES),
            )
            .order_by(ScoringJob.id)
        )
    )


def progress(session: Session, *, scoring_version_id: int) -> Progress:
    """Return how far a scoring version is."""
    counts: Mapping[JobState, int] = dict(
        session.execute(
            select(ScoringJob.state, func.count())
            .where(ScoringJob.scoring_version_id == scoring_version_id)
            .group_by(ScoringJob.state)
        ).all()
    )
    return Progress(
        total=sum(counts.values()),
        done=counts.get(JobState.DONE, 0),
        rejected=counts.get(JobState.REJECTED, 0),
        failed=counts.get(JobState.FAILED, 0),
    )


def publish(
    session: Session,
    *,
    scoring_version_id: int,
    actor: Actor,
    lose_scores: bool = False,
    now: datetime | None = None,
) -> ScoringVersion:
    """Make a prepared scoring version the live one, in this transaction; final standings get a next number.

    Submissions that are still pending stay so, or a stream of new files would put the switch off for ever.
    Raises NotPreparing, RescoringIncomplete while others are unfinished, and RescoringLosesScores if a
    submission with a score would have none, unless `lose_scores`.
    """
    version, competition = _lock(session, scoring_version_id)
    now = now or db.now(session)
    unfinished = _count_unfinished(session, version)
    if unfinished:
        raise RescoringIncomplete(unfinished)
    changed = _jobs_that_change_a_status(session, version)
    lost = sum(job.submission.status is SubmissionStatus.SCORED for job in changed)
    if lost and not lose_scores:
        raise RescoringLosesScores(lost)
    retired = competitions.live(competition)
    retired.state = ScoringVersionState.RETIRED
    version.state = ScoringVersionState.LIVE
    version.published_at = now
    competition.live_scoring_version = version
    for job in changed:
        scoring.show_result(job)
    session.flush()
    if competition.settled_at is not None:
        standing_rows.write(
            session, competition=competition, scoring_version_id=version.id, splits=(Split.PRIVATE,)
        )
    final_boards.append_if_final(
        session,
        competition=competition,
        reason=f"Scoring version {version.number}: {version.reason}",
        now=now,
    )
    _record(
        session,
        competition,
        version,
        actor,
        "publish",
        before={"scoring_version": retired.number},
        after={"scoring_version": version.number, "lost_scores": lost},
        public_text=f"Every score is that of scoring version {version.number} now: {version.reason}",
        now=now,
    )
    return version


def drop(
    session: Session, *, scoring_version_id: int, actor: Actor, now: datetime | None = None
) -> ScoringVersion:
    """Give up a scoring version that is being prepared; scores it has stay stored. Raises NotPreparing."""
    version, competition = _lock(session, scoring_version_id)
    version.state = ScoringVersionState.DROPPED
    session.execute(
        delete(ScoringJob).where(
            ScoringJob.scoring_version_id == version.id, ScoringJob.state.in_(scoring.OPEN_STATES)
        )
    )
    session.flush()
    _record(session, competition, version, actor, "drop", now=now or db.now(session))
    return version


def _record(
    session: Session,
    competition: Competition,
    version: ScoringVersion,
    actor: Actor,
    verb: str,
    **what: Any,
) -> None:
    audit.record(
        session,
        competition=competition,
        actor=actor,
        action=f"rescoring.{verb}",
        subject=f"scoring version {version.number}",
        reason=version.reason,
        **what,
    )


def _lock(session: Session, scoring_version_id: int) -> tuple[ScoringVersion, Competition]:
    version = session.get_one(ScoringVersion, scoring_version_id)
    competition = competitions.lock(session, competition_id=version.competition_id)
    session.refresh(version)
    if version.state is not ScoringVersionState.PREPARING:
        raise NotPreparing(version)
    return version, competition


def _count_unfinished(session: Session, version: ScoringVersion) -> int:
    query = (
        select(func.count())
        .select_from(ScoringJob)
        .join(ScoringJob.submission)
        .where(
            ScoringJob.scoring_version_id == version.id,
            ScoringJob.state.in_(scoring.OPEN_STATES),
            Submission.status != SubmissionStatus.PENDING,
        )
    )
    return session.scalar(query) or 0


def _jobs_that_change_a_status(session: Session, version: ScoringVersion) -> list[ScoringJob]:
    """Return the new version's jobs whose outcome is not the status that their submission shows now."""
    changed: list[ScoringJob] = []
    for state, status in scoring.STATUS_OF.items():
        query = (
            select(ScoringJob)
            .join(ScoringJob.submission)
            .where(
                ScoringJob.scoring_version_id == version.id,
                ScoringJob.state == state,
                Submission.status != status,
            )
            .options(joinedload(ScoringJob.submission))
        )
        changed += session.scalars(query)
    return changed

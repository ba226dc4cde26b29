"""Rescoring preparation: corrected solution or metric settings, progress, cancellation.

The leaderboards do not change until the version is published; see `publication`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, and_, delete, func, or_, select, update
from sqlalchemy.orm import Session, joinedload

from grader.crash_points import reach
from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import (
    Competition,
    JobState,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Submission,
    SubmissionStatus,
)
from grader.services.competitions import boards, lookup
from grader.services.competitions.acting import Act
from grader.services.rescoring import versions
from grader.services.site import leased_rows
from grader.services.solutions import data_checks as checks
from grader.services.solutions.intake import StoredSolution
from grader.services.submissions import scoring_jobs as jobs
from grader.text import plain_text

RESCORED = (SubmissionStatus.SCORED, SubmissionStatus.PENDING, SubmissionStatus.FAILED)


@dataclass(frozen=True, slots=True)
class Progress:
    """The submissions with a job under a scoring version, or that need one; `finished` have a result.

    `failed` have failed. `unfinished` have a result under the live version, but none under this one. `lost`
    would lose their scores.
    """

    total: int
    finished: int
    failed: int
    unfinished: int
    lost: int

    @property
    def is_final(self) -> bool:
        """Whether all submissions have results."""
        return self.finished == self.total


def prepare(
    act: Act, *, solution: StoredSolution, reason: str, changes: Mapping[str, Any] | None = None
) -> ScoringVersion:
    """Add a scoring version and all its jobs.

    Raises OrganizerRefusal, also if a named leaderboard needs a value
    that the metric lacks.

    Rejected files stay rejected because all solutions of a competition have the same row ids. Each new
    submission gets a job under both versions. `changes` are stored with the solution's report.
    """
    reason, session, competition = checked_reason(reason), act.session, act.competition
    require_none_open(session, competition=competition)
    boards.require(competition, solution.rules)
    if changes is not None:
        report = {**solution.report, "changes": dict(changes)}
        solution = solution.model_copy(update={"report": report})
    version = versions.add(act, solution=solution, reason=reason, state=ScoringVersionState.PREPARING)
    checks.request(**act.parts)
    add_missing_jobs(session, version=version, now=act.now)
    _record(act, "rescoring.prepare", version)
    reach("rescoring.before_commit")
    return version


def begun(session: Session, *, competition: Competition, solution: StoredSolution) -> ScoringVersion | None:
    """Return the version that an interrupted attempt at this rescoring created, or None."""
    version = open_version(session, competition=competition)
    if version is None and lookup.live(competition).replaced_number is not None:
        version = lookup.live(competition)
    if version is None:
        return None
    is_same = (
        version.solution.prepared_sha256 == solution.prepared_sha256
        and version.metric_settings == solution.rules.as_settings()
        and version.metric_code_version == solution.metric_code_version
    )
    return version if is_same else None


def begin_again(act: Act, version: ScoringVersion) -> None:
    """Prepare a retired version again; raise OrganizerRefusal."""
    require_none_open(act.session, competition=act.competition)
    version.state = ScoringVersionState.PREPARING
    _record(act, "rescoring.prepare", version)


def add_missing_jobs(session: Session, *, version: ScoringVersion, now: datetime) -> None:
    """Add the missing jobs of a scoring version, and retry its failed jobs."""
    is_its = ScoringVersion.id == version.id, Submission.status.in_(RESCORED)
    session.execute(jobs.missing_jobs(now, *is_its))
    session.execute(
        update(ScoringJob)
        .where(ScoringJob.scoring_version_id == version.id, ScoringJob.state == JobState.FAILED)
        .values(state=JobState.WAITING, available_at=now, attempt_count=0, error_count=0, finished_at=None)
        .execution_options(synchronize_session=False)
    )


def list_all(session: Session, *, competition: Competition) -> list[ScoringVersion]:
    """Return the scoring versions of a competition with their solutions, newest first."""
    query = _of(competition).order_by(ScoringVersion.number.desc())
    return list(session.scalars(query))


def get(session: Session, *, competition: Competition, number: int) -> ScoringVersion:
    """Return a scoring version with its solution; raise OrganizerRefusal."""
    version = session.scalar(_of(competition).where(ScoringVersion.number == number))
    if version is None:
        message = f"There is no scoring version {number}."
        raise OrganizerRefusal("unknown_scoring_version", ErrorKind.NOT_FOUND, message)
    return version


def open_version(session: Session, *, competition: Competition) -> ScoringVersion | None:
    """Return the scoring version that is being prepared, or None if there is none."""
    return session.scalar(_of(competition).where(ScoringVersion.state == ScoringVersionState.PREPARING))


def require_none_open(session: Session, *, competition: Competition) -> None:
    """Raise OrganizerRefusal if a version of a locked competition is being prepared."""
    preparing = open_version(session, competition=competition)
    if preparing is not None:
        message = (
            f"Scoring version {preparing.number} is not published yet (prepared by "
            f"{preparing.created_by}: {preparing.reason}). Publish or cancel it first."
        )
        raise OrganizerRefusal("rescoring_under_way", ErrorKind.CONFLICT, message)


def progress(session: Session, *, version: ScoringVersion) -> Progress:
    """Return the progress of a scoring version."""
    job = and_(ScoringJob.submission_id == Submission.id, ScoringJob.scoring_version_id == version.id)
    is_done = and_(ScoringJob.id.is_not(None), ScoringJob.state.not_in(leased_rows.OPEN_STATES))
    is_scored = Submission.status == SubmissionStatus.SCORED
    counts = session.execute(
        select(
            func.count(),
            func.count().filter(is_done),
            func.count().filter(ScoringJob.state == JobState.FAILED),
            func.count().filter(~is_done, Submission.status != SubmissionStatus.PENDING),
            func.count().filter(is_scored, ScoringJob.state.in_((JobState.REJECTED, JobState.FAILED))),
        )
        .select_from(Submission)
        .outerjoin(ScoringJob, job)
        .where(
            Submission.competition_id == version.competition_id,
            or_(ScoringJob.id.is_not(None), Submission.status.in_(RESCORED)),
        )
    ).one()
    return Progress(*counts)


def drop(act: Act, *, number: int) -> ScoringVersion:
    """Cancel a scoring version in preparation, but keep its scores; raise OrganizerRefusal."""
    version = get_preparing(act, number)
    was_live = version.published_at is not None
    version.state = ScoringVersionState.RETIRED if was_live else ScoringVersionState.DROPPED
    act.session.execute(
        delete(ScoringJob).where(
            ScoringJob.scoring_version_id == version.id, ScoringJob.state.in_(leased_rows.OPEN_STATES)
        )
    )
    _record(act, "rescoring.drop", version)
    return version


def _record(act: Act, action: str, version: ScoringVersion) -> None:
    act.record(action, f"scoring version {version.number}", reason=version.reason)


def get_preparing(act: Act, number: int) -> ScoringVersion:
    """Return a version in preparation; raise OrganizerRefusal."""
    version = get(act.session, competition=act.competition, number=number)
    if version.state is not ScoringVersionState.PREPARING:
        message = (
            f"Scoring version {version.number} is {version.state}. Only a version in preparation can be "
            "published or cancelled."
        )
        raise OrganizerRefusal("not_preparing", ErrorKind.CONFLICT, message)
    return version


def checked_reason(reason: str) -> str:
    """Return a reason as plain text; raise OrganizerRefusal if it is blank."""
    reason = plain_text(reason)
    if not reason:
        raise OrganizerRefusal("reason_needed", ErrorKind.CONFLICT, "Enter a reason. Everyone can see it.")
    return reason


def _of(competition: Competition) -> Select[ScoringVersion]:
    return (
        select(ScoringVersion)
        .where(ScoringVersion.competition_id == competition.id)
        .options(joinedload(ScoringVersion.solution))
        .execution_options(populate_existing=True)
    )

"""Checklist for the reveal and the final standings: missing, failed and pending items."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from grader.metrics.interface import Exactness
from grader.models import (
    Competition,
    Dispute,
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    ScoringVersion,
    ScoringVersionState,
    Submission,
    SubmissionStatus,
    Team,
)
from grader.services.closing import close
from grader.services.closing.verification import NothingToVerify, Verified, VerifyParameters, competing
from grader.services.competitions import entry_fields, phases
from grader.services.competitions.metric import of_version
from grader.services.competitions.phases import Stage
from grader.services.jobs import organizer_jobs

BUNDLES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CloseState:
    """The progress of the close, with the remaining tasks.

    `selection_open_until` is set while a reopened final selection delays the other steps. `waiting` and
    `failed` contain the first submissions that were accepted in time but have no result. `verify_job` is the
    newest verification and `verified` its result; `is_current` is true if the verification used the live
    scoring version. `exactness` is that of the metric, which determines how values are compared.
    `undivided_count` is the number of teams without a division, once leaders can no longer choose it.
    `incomplete` are the competing submissions without required links and notes.
    """

    stage: Stage
    selection_open_until: datetime | None
    waiting_count: int
    waiting: tuple[Submission, ...]
    failed_count: int
    failed: tuple[Submission, ...]
    preparing: int | None
    open_dispute_count: int
    verify_job: OrganizerJob | None
    verified: Verified | None
    is_current: bool
    exactness: Exactness = Exactness.COUNTS
    undivided_count: int = 0
    incomplete: tuple[Submission, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether the competing submissions were verified under the live version and agree."""
        is_done = self.verify_job is not None and self.verify_job.state is JobState.DONE
        return bool(is_done and self.is_current and self.verified and not self.verified.differences)

    @property
    def unverified(self) -> str:
        """The reason why the competing submissions do not count as verified; empty if they do."""
        if self.agrees:
            return ""
        if self.verify_job is None:
            return "The competing submissions have not been verified."
        if not self.is_current:
            return "The last verification did not use the live scoring version."
        if organizer_jobs.is_open(self.verify_job):
            return "The verification is still running."
        if self.verify_job.state is JobState.DONE:
            return "The last verification found differences."
        return "The last verification did not finish."


def state(session: Session, *, competition: Competition, now: datetime) -> CloseState:
    """Return the state of a competition's close."""
    version = competition.live_scoring_version
    job = next(
        iter(organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.VERIFY)), None
    )
    params = None if job is None else VerifyParameters.from_dict(job.parameters)
    is_current = params is not None and version is not None and params.scoring_version_id == version.id
    counts = close.count_unscored(session, competition)
    return CloseState(
        stage=phases.stage(competition, now),
        selection_open_until=phases.selection_open_until(competition, now),
        waiting_count=counts[SubmissionStatus.PENDING],
        waiting=tuple(close.first_unscored(session, competition, SubmissionStatus.PENDING)),
        failed_count=counts[SubmissionStatus.FAILED],
        failed=tuple(close.first_unscored(session, competition, SubmissionStatus.FAILED)),
        preparing=session.scalar(
            select(ScoringVersion.number).where(
                ScoringVersion.competition_id == competition.id,
                ScoringVersion.state == ScoringVersionState.PREPARING,
            )
        ),
        open_dispute_count=session.scalar(
            select(func.count()).where(
                Dispute.competition_id == competition.id, Dispute.answered_at.is_(None)
            )
        )
        or 0,
        verify_job=job,
        verified=Verified.from_dict(job.result) if job is not None and job.result else None,
        is_current=is_current,
        incomplete=tuple(_incomplete(session, competition, version)),
        exactness=Exactness.COUNTS if version is None else of_version(version).describe().exactness,
        undivided_count=_count_undivided(session, competition, now) if competition.divisions else 0,
    )


def _count_undivided(session: Session, competition: Competition, now: datetime) -> int:
    """Return the number of teams with scores but without a division, or 0 while leaders can choose it."""
    if phases.takes_divisions(competition, now):
        return 0
    has_score = exists().where(Submission.team_id == Team.id, Submission.status == SubmissionStatus.SCORED)
    mine = Team.competition_id == competition.id, ~Team.is_organizers, Team.disqualified_at.is_(None)
    return session.scalar(select(func.count()).where(*mine, Team.division.is_(None), has_score)) or 0


def _incomplete(
    session: Session, competition: Competition, version: ScoringVersion | None
) -> Iterator[Submission]:
    fields = competition.entry_fields
    if version is None or competition.finalized_at or not entry_fields.missing(fields, {}):
        return
    with suppress(NothingToVerify):
        for each in competing(session, version=version):
            if entry_fields.missing(fields, each.details):
                yield each


def jobs(session: Session, *, competition: Competition) -> list[OrganizerJob]:
    """Return the newest jobs of a close: the last verification and the latest bundles.

    Finished jobs that only wrote the published solution's file are omitted.
    """
    verifications = organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.VERIFY)
    packed = organizer_jobs.newest(
        session, competition=competition, kind=OrganizerJobKind.BUNDLE, limit=4 * BUNDLES_SHOWN
    )
    bundles = [job for job in packed if job.state is not JobState.DONE or "sha256" in job.result]
    return [*verifications, *bundles[:BUNDLES_SHOWN]]

"""Checklist for the reveal: pending and failed submissions, rescorings in preparation."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from grader.models import (
    Competition,
    ScoringVersion,
    ScoringVersionState,
    Submission,
    SubmissionStatus,
    Team,
)
from grader.services.closing import close
from grader.services.competitions import phases
from grader.services.competitions.phases import Stage


@dataclass(frozen=True, slots=True)
class CloseState:
    """The progress of the close, with the remaining tasks.

    `selection_open_until` is set while a reopened final selection delays the other steps. `waiting` and
    `failed` contain the first submissions that were accepted in time but have no result. `undivided_count` is
    the number of teams without a division, once leaders can no longer choose it.
    """

    stage: Stage
    selection_open_until: datetime | None
    waiting_count: int
    waiting: tuple[Submission, ...]
    failed_count: int
    failed: tuple[Submission, ...]
    preparing: int | None
    undivided_count: int = 0


def state(session: Session, *, competition: Competition, now: datetime) -> CloseState:
    """Return the state of a competition's close."""
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
        undivided_count=_count_undivided(session, competition, now) if competition.divisions else 0,
    )


def _count_undivided(session: Session, competition: Competition, now: datetime) -> int:
    """Return the number of teams with scores but without a division, or 0 while leaders can choose it."""
    if phases.takes_divisions(competition, now):
        return 0
    has_score = exists().where(Submission.team_id == Team.id, Submission.status == SubmissionStatus.SCORED)
    mine = Team.competition_id == competition.id, ~Team.is_organizers, Team.disqualified_at.is_(None)
    return session.scalar(select(func.count()).where(*mine, Team.division.is_(None), has_score)) or 0

"""Standard errors of counted scores, computed by a background job after scoring.

Before the reveal, only the files on public leaderboards have errors, and only those of their public scores.
Errors of the other files would show which of the selected files is better on the private rows.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Select, and_, delete, or_, select
from sqlalchemy.orm import Session

from grader.models import (
    Competition,
    CompetitionState,
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    Score,
    Split,
    Standing,
    Submission,
)
from grader.services.site import organizer_jobs
from grader.services.site.leased_rows import OPEN_STATES

FAILED_AGAIN_AFTER = timedelta(hours=1)
_IS_OWN = (OrganizerJob.kind == OrganizerJobKind.ERRORS, OrganizerJob.competition_id == Competition.id)


class UnmeasuredScore(NamedTuple):
    """A score without standard errors, with the hash of its file."""

    score_id: int
    split: Split
    sha256: str


def request_due(session: Session, *, now: datetime) -> None:
    """Add a job to each locked competition that needs one, in place of the earlier ones."""
    locking = _due(now).with_for_update(of=Competition, key_share=True, skip_locked=True)
    for competition in session.scalars(locking).all():
        mine = OrganizerJob.competition_id == competition.id, OrganizerJob.kind == OrganizerJobKind.ERRORS
        session.execute(delete(OrganizerJob).where(*mine))
        organizer_jobs.add(session, competition=competition, kind=OrganizerJobKind.ERRORS, now=now)


def _due(now: datetime) -> Select[Competition]:
    """Return competitions with missing errors, without an open job or one that failed recently."""
    failed = and_(OrganizerJob.state == JobState.FAILED, OrganizerJob.finished_at > now - FAILED_AGAIN_AFTER)
    blocked = select(OrganizerJob.id).where(*_IS_OWN, or_(OrganizerJob.state.in_(OPEN_STATES), failed))
    return select(Competition).where(
        Competition.id.in_(_missing().with_only_columns(Competition.id).correlate(None)),
        ~blocked.exists(),
    )


def missing(session: Session, *, competition_id: int) -> list[UnmeasuredScore]:
    """Return the counted scores of the live scoring version that lack standard errors."""
    query = _missing().where(Competition.id == competition_id).distinct()
    return [UnmeasuredScore(*row) for row in session.execute(query)]


def _missing() -> Select[int, Split, str]:
    is_entry = and_(
        Standing.submission_id == Score.submission_id, Standing.scoring_version_id == Score.scoring_version_id
    )
    is_public = and_(Standing.split == Split.PUBLIC, Score.split == Split.PUBLIC)
    return (
        select(Score.id, Score.split, Submission.sha256)
        .select_from(Score)
        .join(Standing, is_entry)
        .join(Submission, Submission.id == Score.submission_id)
        .join(Competition, Competition.live_scoring_version_id == Score.scoring_version_id)
        .where(
            Competition.state.in_((CompetitionState.PUBLISHED, CompetitionState.REVEALED)),
            Score.errors.is_(None),
            or_(is_public, Competition.revealed_at.is_not(None)),
        )
    )


def record(session: Session, errors: Mapping[int, Mapping[str, float]]) -> None:
    """Store the standard errors by the ids of the scores; none if they could not be computed."""
    for score in session.scalars(select(Score).where(Score.id.in_(list(errors)))):
        score.errors = dict(errors[score.id])
    session.flush()

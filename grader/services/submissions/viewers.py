"""Access to a submission for its team and organizers, and navigation between submissions."""

from dataclasses import dataclass

from sqlalchemy import literal, select, tuple_
from sqlalchemy.orm import Session, joinedload

from grader.models import Competition, ScoringVersion, Submission, User
from grader.models.competitions import DELETED
from grader.services.competitions import organizers
from grader.services.submissions import accepting
from grader.services.submissions.accepting import UnknownSubmission
from grader.visibility import Viewer


@dataclass(frozen=True, slots=True)
class Opened:
    """A submission, the viewer's role, and whether it belongs to the viewer's team."""

    submission: Submission
    viewer: Viewer
    is_own: bool


def open_submission(session: Session, *, user: User, submission_id: int) -> Opened:
    """Return a submission for its team or an organizer; raise UnknownSubmission.

    An organizer who is also a member of the submission's team sees it as an organizer.
    """
    submission = _find(session, submission_id)
    is_own = accepting.is_own(session, submission=submission, user=user)
    if organizers.role_of(session, competition=submission.competition, user=user) is not None:
        return Opened(submission, Viewer.ORGANIZER, is_own)
    if not is_own:
        raise UnknownSubmission(submission_id=submission_id)
    return Opened(submission, Viewer.TEAM, is_own)


def _find(session: Session, submission_id: int) -> Submission:
    submission = session.scalar(
        select(Submission)
        .where(Submission.id == submission_id)
        .options(
            joinedload(Submission.competition)
            .joinedload(Competition.live_scoring_version)
            .joinedload(ScoringVersion.solution),
            joinedload(Submission.team),
            joinedload(Submission.user),
        )
    )
    if submission is None or submission.competition.slug.startswith(DELETED):
        raise UnknownSubmission(submission_id=submission_id)
    return submission


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The ids of the previous and the next submission; None at either end of the list."""

    previous: int | None
    next: int | None


def neighbours_of(session: Session, *, submission: Submission) -> Neighbours:
    """Return the ids of the team's previous and next submissions, in one query."""
    sent_at = Submission.__table__.c.submitted_at
    own = tuple_(literal(submission.submitted_at, sent_at.type), literal(submission.id))
    time = tuple_(Submission.submitted_at, Submission.id)
    mine = select(Submission.id).where(Submission.team_id == submission.team_id).limit(1)
    before = mine.where(time < own).order_by(Submission.submitted_at.desc(), Submission.id.desc())
    after = mine.where(time > own).order_by(Submission.submitted_at, Submission.id)
    row = session.execute(select(before.scalar_subquery(), after.scalar_subquery())).one()
    return Neighbours(*row)

"""Open one submission as its team or as an organizer."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from grader.models import Competition, ScoringVersion, Submission, User
from grader.services.competitions import organizers
from grader.services.submissions import accepting
from grader.services.submissions.accepting import UnknownSubmission
from grader.visibility import Viewer


@dataclass(frozen=True, slots=True)
class Opened:
    """A submission, with whose eyes the person sees it, and whether it is of the person's team."""

    submission: Submission
    viewer: Viewer
    is_own: bool


def open_submission(session: Session, *, user: User, submission_id: int) -> Opened:
    """Return a submission for its team or for an organizer of its competition; raise UnknownSubmission.

    An organizer's eyes are an organizer's also on a file of the own team.
    """
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
    if submission is None:
        raise UnknownSubmission(submission_id=submission_id)
    is_own = accepting.is_own(session, submission=submission, user=user)
    if organizers.role_of(session, competition=submission.competition, user=user) is not None:
        return Opened(submission, Viewer.ORGANIZER, is_own)
    if not is_own:
        raise UnknownSubmission(submission_id=submission_id)
    return Opened(submission, Viewer.TEAM, is_own)

"""Upload acceptance, and access to submissions for their teams and organizers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, ParticipantError, Refusal
from grader.models import (
    Competition,
    Role,
    ScoringVersion,
    Submission,
    SubmissionStatus,
    Team,
    TeamMember,
    User,
)
from grader.models.competitions import DELETED
from grader.services.competitions import lookup, organizers
from grader.services.site.paging import Part, Slice, slice_of_query
from grader.services.submissions import scoring_jobs as scoring
from grader.services.submissions import situation
from grader.services.submissions.refusal import NothingToScore, kind, refusal
from grader.services.submissions.situation import SentFile, Situation
from grader.services.teams import limits, participations, rosters
from grader.services.teams.limits import Allowance
from grader.text import one_line
from grader.visibility import Viewer

DESCRIPTION_MAX_LENGTH = 500
FILE_NAME_MAX_LENGTH = 255


class UnknownSubmission(ParticipantError):
    """The submission does not exist or belongs to another team."""

    public_name = "unknown_submission"
    kind = ErrorKind.NOT_FOUND
    message = "You have no submission {submission_id}."


@dataclass(frozen=True, slots=True)
class Opened:
    """A submission, the viewer's role, and whether it belongs to the viewer's team."""

    submission: Submission
    viewer: Viewer
    is_own: bool


@dataclass(frozen=True, slots=True)
class NewSubmission:
    """A new submission and its jobs. Hints for the jobs are sent after the commit."""

    submission: Submission
    job_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AcceptedUpload(NewSubmission):
    """An accepted upload and the team's remaining submissions.

    `is_new` is false if the request repeated an accepted request with the same idempotency key.
    """

    allowance: Allowance
    is_new: bool = True


def size_cap(competition: Competition) -> int:
    """Return the maximum size of a submission in bytes; raise NothingToScore."""
    if competition.live_scoring_version is None:
        raise NothingToScore
    return int(competition.live_scoring_version.solution.report["submission_bytes"])


def accept(
    session: Session,
    *,
    competition: Competition,
    user: User,
    file: SentFile,
    file_name: str,
    description: str = "",
    now: datetime | None = None,
) -> AcceptedUpload:
    """Create a submission from a stored file, with a job for every scoring version in use.

    The file must be stored already. The time of acceptance is the database's, read under the competition's
    lock. A repeated idempotency key with the same bytes returns the earlier submission. Files from organizers
    are test submissions: they are accepted at any time, do not count towards a limit, and never compete.
    Raises the errors of `refusal`, or Refusal for the description.
    """
    description = _checked_description(description)
    lookup.hold(session, slug=competition.slug)
    state = situation.read(session, slug=competition.slug, user=user, file=file, now=now)
    if refused := refusal(state):
        raise refused
    if state.repeated is not None:
        return AcceptedUpload(state.repeated, (), state.allowance, is_new=False)
    made = create(
        session,
        competition=state.competition,
        team=_team(session, state, user),
        user_id=user.id,
        file=file,
        now=state.now,
        file_name=plain_file_name(file_name),
        description=description,
        kind=kind(state),
        idempotency_key=file.idempotency_key,
    )
    left = state.allowance if made.submission.slot_day is None else state.allowance.with_one_more()
    return AcceptedUpload(made.submission, made.job_ids, left)


def create(
    session: Session,
    *,
    competition: Competition,
    file: SentFile,
    now: datetime,
    **values: Any,
) -> NewSubmission:
    """Create a submission with these values, and its jobs."""
    submission = Submission(
        competition_id=competition.id,
        sha256=file.sha256,
        size_bytes=file.size_bytes,
        status=SubmissionStatus.PENDING,
        submitted_at=now,
        **values,
    )
    limits.update_slot(submission)
    session.add(submission)
    session.flush()
    job_ids = scoring.add_jobs(session, submission=submission, competition=competition, now=now)
    return NewSubmission(submission, job_ids)


def team_of(session: Session, *, competition: Competition, user: User, role: Role | None) -> Team | None:
    """Return the team that owns a user's submissions; all organizers share one team."""
    if role is not None:
        return rosters.organizers_team_of(session, competition=competition)
    return rosters.find_team(session, competition=competition, user=user)


def get_own(session: Session, *, user: User, submission_id: int) -> Submission:
    """Return a submission of one of the user's teams; raise UnknownSubmission for any other."""
    submission = _find(session, submission_id)
    if not is_own(session, submission=submission, user=user):
        raise UnknownSubmission(submission_id=submission_id)
    return submission


def open_submission(session: Session, *, user: User, submission_id: int) -> Opened:
    """Return a submission for its team or an organizer; raise UnknownSubmission.

    An organizer who is also a member of the submission's team sees it as an organizer.
    """
    submission = _find(session, submission_id)
    belongs = is_own(session, submission=submission, user=user)
    if organizers.role_of(session, competition=submission.competition, user=user) is not None:
        return Opened(submission, Viewer.ORGANIZER, belongs)
    if not belongs:
        raise UnknownSubmission(submission_id=submission_id)
    return Opened(submission, Viewer.TEAM, belongs)


def require_file(submission: Submission) -> None:
    """Raise Refusal if the file of a rejected submission has been deleted."""
    if submission.file_deleted_at is not None:
        message = f"The file of submission #{submission.id} was rejected and has been deleted."
        raise Refusal("file_deleted", ErrorKind.GONE, message)


def slice_of(session: Session, *, team: Team | None, part: Part) -> Slice[Submission]:
    """Return a slice of a team's submissions, newest first; empty if the team is None."""
    if team is None:
        return Slice((), None, part.size)
    mine = select(Submission).where(Submission.team_id == team.id)
    return slice_of_query(session, mine, key=Submission.__table__.c.id, part=part)


def describe(session: Session, *, user: User, submission_id: int, description: str) -> Submission:
    """Change a submission's description; raise UnknownSubmission or Refusal."""
    submission = get_own(session, user=user, submission_id=submission_id)
    submission.description = _checked_description(description)
    session.flush()
    return submission


def is_own(session: Session, *, submission: Submission, user: User) -> bool:
    """Return whether a submission is the user's own; organizers share their test submissions."""
    if submission.team.is_organizers:
        return organizers.role_of(session, competition=submission.competition, user=user) is not None
    member = select(TeamMember.id).where(
        TeamMember.team_id == submission.team_id, TeamMember.user_id == user.id
    )
    return session.scalar(member) is not None


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


def _team(session: Session, state: Situation, user: User) -> Team:
    """Return the team of an accepted upload; the first upload creates it."""
    if state.is_test:
        return state.team or rosters.require_organizers_team(
            session, competition=state.competition, now=state.now
        )
    return participations.team_for_upload(
        session,
        competition=state.competition,
        user=user,
        participation=state.participation,
        team=state.team,
        now=state.now,
    )


def _checked_description(description: str) -> str:
    if len(description) > DESCRIPTION_MAX_LENGTH:
        message = (
            f"The description has {len(description):,} characters. Shorten it to at most "
            f"{DESCRIPTION_MAX_LENGTH}."
        )
        raise Refusal("description_too_long", ErrorKind.INVALID, message)
    return one_line(description, DESCRIPTION_MAX_LENGTH)


def plain_file_name(file_name: str, default: str = "submission.csv") -> str:
    """Return the name of a file without its folder, as one line."""
    return one_line(file_name.replace("\\", "/").rpartition("/")[2], FILE_NAME_MAX_LENGTH) or default

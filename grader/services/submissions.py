"""Submissions: accepting a file, and what its team may know about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from grader import db
from grader.errors import ParticipantError
from grader.files import submission_size_cap
from grader.leaderboard.visibility import Phase
from grader.models import (
    Competition,
    ScoringVersion,
    ScoringVersionState,
    Submission,
    SubmissionStatus,
    Team,
    TeamMember,
    User,
)
from grader.services import competitions, names, scoring
from grader.services.texts import one_line
from grader.storage import StoredBlob

DESCRIPTION_MAX_LENGTH = 500
FILE_NAME_MAX_LENGTH = 255


class CompetitionNotOpen(ParticipantError):
    """The competition takes no submissions yet."""

    def __init__(self, opens_at: datetime | None) -> None:
        when = f" It opens at {opens_at:%Y-%m-%d %H:%M:%S} UTC." if opens_at else ""
        super().__init__(f"This competition is not open yet.{when}")
        self.opens_at = opens_at


class CompetitionClosed(ParticipantError):
    """The competition takes no more submissions."""

    def __init__(self, closes_at: datetime | None) -> None:
        when = f" at {closes_at:%Y-%m-%d %H:%M:%S} UTC" if closes_at else ""
        super().__init__(f"This competition closed{when}. The file was not accepted.")
        self.closes_at = closes_at


class DescriptionTooLong(ParticipantError):
    """A description has more characters than are kept."""

    def __init__(self, length: int) -> None:
        super().__init__(
            f"A description has at most {DESCRIPTION_MAX_LENGTH} characters; this one has {length:,}."
        )
        self.length = length


class UnknownSubmission(ParticipantError):
    """There is no such submission, or it is another team's."""

    def __init__(self, submission_id: int) -> None:
        super().__init__(f"You have no submission {submission_id}.")
        self.submission_id = submission_id


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted submission and its jobs, to be hinted once the transaction is committed."""

    submission: Submission
    job_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a team's submissions, the newest first."""

    submissions: tuple[Submission, ...]
    page: int
    page_count: int
    submission_count: int


def size_cap(competition: Competition) -> int:
    """Return how many bytes a submission of a competition may have."""
    return submission_size_cap(competitions.live(competition).solution.row_count)


def accept(
    session: Session,
    *,
    competition: Competition,
    user: User,
    blob: StoredBlob,
    file_name: str,
    description: str = "",
    now: datetime | None = None,
) -> Accepted:
    """Take in a stored file: its submission and a job for every scoring version in use.

    The blob is in the storage before. The time is the database's, read under the competition's lock.
    Raises CompetitionNotOpen, CompetitionClosed, DescriptionTooLong.
    """
    description = _checked_description(description)
    competition = competitions.lock(session, competition_id=competition.id)
    now = now or db.now(session)
    _require_open(competition, now)
    submission = Submission(
        competition_id=competition.id,
        team=_team_of(session, competition, user, now),
        user_id=user.id,
        sha256=blob.sha256,
        size_bytes=blob.size,
        file_name=_plain_file_name(file_name),
        description=description,
        status=SubmissionStatus.PENDING,
        submitted_at=now,
    )
    session.add(submission)
    session.flush()
    jobs = [
        scoring.add_job(session, submission_id=submission.id, scoring_version_id=version_id, now=now)
        for version_id in _versions_in_use(session, competition)
    ]
    return Accepted(submission, tuple(job.id for job in jobs))


def get_own(session: Session, *, user: User, submission_id: int) -> Submission:
    """Return a submission of one of the person's teams; raise UnknownSubmission for any other."""
    submission = session.scalar(
        select(Submission)
        .join(TeamMember, TeamMember.team_id == Submission.team_id)
        .where(Submission.id == submission_id, TeamMember.user_id == user.id)
        .options(
            joinedload(Submission.competition)
            .joinedload(Competition.live_scoring_version)
            .joinedload(ScoringVersion.solution),
            joinedload(Submission.team),
        )
    )
    if submission is None:
        raise UnknownSubmission(submission_id)
    return submission


def list_own(
    session: Session, *, competition: Competition, user: User, page: int = 1, page_size: int = 50
) -> Page:
    """Return a page of the submissions of the person's team, the newest first."""
    team = find_team(session, competition=competition, user=user)
    if team is None:
        return Page((), page=1, page_count=1, submission_count=0)
    mine = select(Submission).where(Submission.team_id == team.id)
    count = session.scalar(select(func.count()).select_from(mine.subquery())) or 0
    page_count = max(1, -(-count // page_size))
    page = min(max(1, page), page_count)
    rows = session.scalars(
        mine.order_by(Submission.submitted_at.desc(), Submission.id.desc())
        .limit(page_size)
        .offset((page - 1) * page_size)
    )
    return Page(tuple(rows), page, page_count, count)


def describe(session: Session, *, user: User, submission_id: int, description: str) -> Submission:
    """Change the description of an own submission; raise UnknownSubmission, DescriptionTooLong."""
    submission = get_own(session, user=user, submission_id=submission_id)
    submission.description = _checked_description(description)
    session.flush()
    return submission


def find_team(session: Session, *, competition: Competition, user: User) -> Team | None:
    """Return the person's team in a competition, None before the first submission."""
    return session.scalar(
        select(Team)
        .join(TeamMember, TeamMember.team_id == Team.id)
        .where(TeamMember.competition_id == competition.id, TeamMember.user_id == user.id)
    )


def _require_open(competition: Competition, now: datetime) -> None:
    match competitions.phase(competition, now):
        case Phase.SCHEDULED:
            raise CompetitionNotOpen(competition.opens_at)
        case Phase.CLOSED | Phase.REVEALED:
            raise CompetitionClosed(competition.closes_at)
        case Phase.OPEN:
            return


def _team_of(session: Session, competition: Competition, user: User, now: datetime) -> Team:
    """Return the person's team, making a team of one on first use (the competition is locked)."""
    team = find_team(session, competition=competition, user=user)
    if team is None:
        name = _free_name(session, competition, user.name)
        team = Team(competition_id=competition.id, name=name, name_key=names.key(name), created_at=now)
        team.members.append(TeamMember(competition_id=competition.id, user_id=user.id, joined_at=now))
        session.add(team)
        session.flush()
    return team


def _free_name(session: Session, competition: Competition, name: str) -> str:
    candidate, number = name, 1
    while session.scalar(
        select(Team.id).where(Team.competition_id == competition.id, Team.name_key == names.key(candidate))
    ):
        number += 1
        suffix = f" ({number})"
        candidate = name[: names.MAX_LENGTH - len(suffix)] + suffix
    return candidate


def _versions_in_use(session: Session, competition: Competition) -> Iterable[int]:
    """Return the live scoring version and the one that is being prepared."""
    preparing = session.scalars(
        select(ScoringVersion.id).where(
            ScoringVersion.competition_id == competition.id,
            ScoringVersion.state == ScoringVersionState.PREPARING,
        )
    )
    return [competitions.live(competition).id, *preparing]


def _checked_description(description: str) -> str:
    if len(description) > DESCRIPTION_MAX_LENGTH:
        raise DescriptionTooLong(len(description))
    return one_line(description, DESCRIPTION_MAX_LENGTH)


def _plain_file_name(file_name: str) -> str:
    name = one_line(file_name.replace("\\", "/").rpartition("/")[2], FILE_NAME_MAX_LENGTH)
    return name or "submission.csv"

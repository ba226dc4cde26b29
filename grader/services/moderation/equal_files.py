"""Find identical files that different teams submitted."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from grader.models import Competition, Submission, Team

MAX_GROUPS = 100
MAX_SENDERS = 50


@dataclass(frozen=True, slots=True)
class Sender:
    """A team that sent the bytes, with the first submission of them."""

    team: Team
    submission_id: int
    submitted_at: datetime
    count: int


@dataclass(frozen=True, slots=True)
class Group:
    """A file that several teams sent; `is_sample` marks the sample submission."""

    sha256: str
    size_bytes: int
    team_count: int
    senders: tuple[Sender, ...]
    is_sample: bool


def find(session: Session, *, competition: Competition) -> list[Group]:
    """Return the files that more than one team sent, those of the most teams first."""
    rows = session.execute(
        select(
            Submission.sha256,
            func.max(Submission.size_bytes),
            func.count(Submission.team_id.distinct()).label("team_count"),
        )
        .join(Team, Team.id == Submission.team_id)
        .where(Submission.competition_id == competition.id, Team.is_organizers.is_(False))
        .group_by(Submission.sha256)
        .having(func.count(Submission.team_id.distinct()) > 1)
        .order_by(func.count(Submission.team_id.distinct()).desc(), func.min(Submission.id))
        .limit(MAX_GROUPS)
    ).all()
    version = competition.live_scoring_version
    sample = version.solution.sample_submission_sha256 if version else None
    return [
        Group(sha256, size_bytes, team_count, _senders(session, competition, sha256), sha256 == sample)
        for sha256, size_bytes, team_count in rows
    ]


def _senders(session: Session, competition: Competition, sha256: str) -> tuple[Sender, ...]:
    first = (
        select(
            Submission.team_id,
            func.min(Submission.id).label("submission_id"),
            func.min(Submission.submitted_at).label("submitted_at"),
            func.count().label("count"),
        )
        .where(Submission.competition_id == competition.id, Submission.sha256 == sha256)
        .group_by(Submission.team_id)
        .subquery()
    )
    rows = session.execute(
        select(Team, first.c.submission_id, first.c.submitted_at, first.c.count)
        .join(first, first.c.team_id == Team.id)
        .where(Team.is_organizers.is_(False))
        .order_by(first.c.submitted_at, first.c.submission_id)
        .limit(MAX_SENDERS)
    )
    return tuple(Sender(*row) for row in rows)

"""Competition activity: numbers of participants, teams and files, and reasons for rejections."""

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from grader.models import (
    Competition,
    DataCheckState,
    DataFile,
    Participation,
    RequestState,
    Submission,
    SubmissionStatus,
    TeamMember,
)

RECENT = timedelta(days=30)
REASON_COUNT = 8


class Counts(NamedTuple):
    """The number of people and teams, and the open tasks: requests to join, and held-back data files."""

    people: int
    teams: int
    asking: int
    held: int


def files(session: Session, *, competition: Competition) -> dict[SubmissionStatus, int]:
    """Return the number of files by status."""
    of_competition = Submission.competition_id == competition.id
    by_status = select(Submission.status, func.count()).where(of_competition).group_by(Submission.status)
    return dict(session.execute(by_status).all())


def counts(session: Session, *, competition: Competition) -> Counts:
    """Count people, teams and open tasks."""
    count = select(func.count())
    members = TeamMember.competition_id == competition.id
    figures = (
        count.where(members),
        select(func.count(TeamMember.team_id.distinct())).where(members),
        count.where(Participation.competition_id == competition.id, Participation.state == RequestState.OPEN),
        count.where(DataFile.competition_id == competition.id, DataFile.check_state == DataCheckState.HELD),
    )
    return Counts(*session.execute(select(*(each.scalar_subquery() for each in figures))).one())


def reasons(session: Session, *, competition: Competition, now: datetime) -> list[tuple[str, int]]:
    """Return the codes of the first problems of recently rejected files with their numbers, most first."""
    code = Submission.problems[0]["code"].as_string()
    by_code = (
        select(code, func.count())
        .where(
            Submission.competition_id == competition.id,
            Submission.status == SubmissionStatus.REJECTED,
            Submission.submitted_at >= now - RECENT,
        )
        .group_by(code)
        .order_by(func.count().desc(), code)
        .limit(REASON_COUNT)
    )
    return [(name or "unknown", count) for name, count in session.execute(by_code)]

"""Competition activity: numbers of participants, teams and files, and reasons for rejections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

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


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of people, teams and files by status, and the total file size.

    `asking` and `held` count the open tasks of organizers: requests to join and held-back data files.
    """

    people: int
    teams: int
    asking: int
    held: int
    files: Mapping[SubmissionStatus, int]
    size_bytes: int


FileCounts = Sequence[tuple[SubmissionStatus, int, int]]
"""The number of files and their size by status."""


def files(session: Session, *, competition: Competition) -> FileCounts:
    """Count the files by status."""
    kept = func.sum(Submission.size_bytes).filter(Submission.file_deleted_at.is_(None))
    by_status = (
        select(Submission.status, func.count(), func.coalesce(kept, 0))
        .where(Submission.competition_id == competition.id)
        .group_by(Submission.status)
    )
    return [(status, count, int(size)) for status, count, size in session.execute(by_status)]


def counts(session: Session, *, competition: Competition, files: FileCounts) -> Counts:
    """Count people and teams."""
    count = select(func.count())
    members = TeamMember.competition_id == competition.id
    figures = (
        count.where(members),
        select(func.count(TeamMember.team_id.distinct())).where(members),
        count.where(Participation.competition_id == competition.id, Participation.state == RequestState.OPEN),
        count.where(DataFile.competition_id == competition.id, DataFile.check_state == DataCheckState.HELD),
    )
    query = select(*(each.scalar_subquery() for each in figures))
    people, teams, asking, held = session.execute(query).one()
    return Counts(
        people=people,
        teams=teams,
        asking=asking,
        held=held,
        files={status: count for status, count, _ in files},
        size_bytes=sum(size for _, _, size in files),
    )


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

"""Competition activity: numbers of participants and teams, and daily upload statistics."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Select, func, literal, select, union_all
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
from grader.services.leaderboards.snapshots import NOTHING_KEPT, Snapshot

DAYS = 30
REASON_COUNT = 8
# New files are pending, and only they replace no content token.
_IS_PENDING = Submission.status == SubmissionStatus.PENDING
_HAS_ENDED = Submission.status != SubmissionStatus.PENDING


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of people and teams, of files by status, and the total size of the files.

    `asking` and `held` count the open tasks of organizers: requests to join and held-back data files.
    """

    people: int
    teams: int
    asking: int
    held: int
    files: Mapping[SubmissionStatus, int]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Day:
    """The numbers of files on one UTC day."""

    day: date
    accepted: int
    rejected: int


@dataclass(frozen=True, slots=True)
class Activity:
    """The files by day, oldest first, and the reasons for rejections."""

    days: tuple[Day, ...]
    reasons: tuple[tuple[str, int], ...]


def counts(session: Session, *, competition: Competition, snapshot: Snapshot = NOTHING_KEPT) -> Counts:
    """Count people, teams and files; a snapshot keeps the counts of files that are not pending."""
    joined = select(func.count(), func.count(TeamMember.team_id.distinct())).where(
        TeamMember.competition_id == competition.id
    )
    people, teams = session.execute(joined).one()
    asking, held = session.execute(_waiting(competition)).one()
    kept = func.sum(Submission.size_bytes).filter(Submission.file_deleted_at.is_(None))
    by_status = (
        select(Submission.status, func.count(), func.coalesce(kept, 0))
        .where(Submission.competition_id == competition.id)
        .group_by(Submission.status)
    )
    ended = snapshot.page("files", lambda: session.execute(by_status.where(_HAS_ENDED)).all())
    rows = [*ended, *session.execute(by_status.where(_IS_PENDING))]
    return Counts(
        people=people,
        teams=teams,
        asking=asking,
        held=held,
        files={status: count for status, count, _ in rows},
        size_bytes=sum(int(size) for _, _, size in rows),
    )


def _waiting(competition: Competition) -> Select[Any]:
    """Return the statement that counts the open tasks of organizers."""
    count = select(func.count())
    counted = (
        count.where(Participation.competition_id == competition.id, Participation.state == RequestState.OPEN),
        count.where(DataFile.competition_id == competition.id, DataFile.check_state == DataCheckState.HELD),
    )
    return select(*(each.scalar_subquery() for each in counted))


def of(
    session: Session, *, competition: Competition, now: datetime, snapshot: Snapshot = NOTHING_KEPT
) -> Activity:
    """Return the activity of the last days; a snapshot keeps the part of files that are not pending."""
    today = now.astimezone(UTC).date()
    first = today - timedelta(days=DAYS - 1)
    since = datetime(first.year, first.month, first.day, tzinfo=UTC)
    recent = (Submission.competition_id == competition.id, Submission.submitted_at >= since)
    is_rejected = Submission.status == SubmissionStatus.REJECTED
    ended = union_all(*(_of_day(competition, since, number) for number in range(DAYS)))
    counted = snapshot.page(("days", first), lambda: sorted(session.execute(ended).all()))
    pending = session.scalars(select(Submission.submitted_at).where(*recent, _IS_PENDING))
    waiting = Counter((at.astimezone(UTC).date() - first).days for at in pending)
    days = [
        Day(first + timedelta(days=number), count - rejected + waiting[number], rejected)
        for number, count, rejected in counted
    ]
    code = Submission.problems[0]["code"].as_string()
    by_code = (
        select(code, func.count())
        .where(*recent, is_rejected)
        .group_by(code)
        .order_by(func.count().desc(), code)
        .limit(REASON_COUNT)
    )
    reasons = snapshot.page(("reasons", first), lambda: session.execute(by_code).all())
    return Activity(
        days=tuple(days),
        reasons=tuple((name or "unknown", count) for name, count in reasons),
    )


def _of_day(competition: Competition, since: datetime, number: int) -> Select[int, int, int]:
    """Return the statement that counts a day's files that are not pending; an index covers it."""
    begins = since + timedelta(days=number)
    is_rejected = Submission.status == SubmissionStatus.REJECTED
    return select(literal(number), func.count(), func.count().filter(is_rejected)).where(
        Submission.competition_id == competition.id,
        Submission.submitted_at >= begins,
        Submission.submitted_at < begins + timedelta(days=1),
        _HAS_ENDED,
    )

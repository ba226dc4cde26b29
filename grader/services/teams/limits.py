"""Submission limits of a team, and their refusals: daily, total, pending, and rejected per hour.

A submission uses a slot of the UTC day of its acceptance while it is pending or scored. A rejected or failed
submission releases its slot. Grants raise the limits. All counting is done under the competition's lock.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import Date, Integer, Select, bindparam, func, or_, select, true
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, Refusal
from grader.models import Competition, Submission, SubmissionGrant, SubmissionKind, SubmissionStatus, Team
from grader.text import counted

REJECTIONS_COUNT_FOR = timedelta(hours=1)
PENDING_RETRY = timedelta(seconds=10)

_LIMITED_KINDS = frozenset({SubmissionKind.NORMAL, SubmissionKind.LATE})
_SLOT_STATUSES = frozenset({SubmissionStatus.PENDING, SubmissionStatus.SCORED})


class SubmissionLimitReached(Refusal):
    """The team may not submit now; `retry_at` is None if waiting would not help."""

    def __init__(
        self, name: str, message: str, *, limit: int, retry_at: datetime | None, now: datetime, **details: Any
    ) -> None:
        self.limit, self.retry_at = limit, retry_at
        retry_after = None if retry_at is None else max(retry_at - now, timedelta(seconds=1))
        details |= {"limit": limit, "retry_at": retry_at}
        super().__init__(name, ErrorKind.LIMITED, message, retry_after=retry_after, **details)


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of a team and how much it has used; None means no limit.

    The limits include extra submissions, of which `granted_today` are for this day. If `max_rejections` files
    were rejected within the last hour, `rejections_full_since` is the time of the oldest of these rejections.
    """

    max_daily: int | None
    max_total: int | None
    max_pending: int
    max_rejections: int
    used_today: int
    used_total: int
    pending: int
    rejections_full_since: datetime | None
    resets_at: datetime
    granted_today: int

    @property
    def left_today(self) -> int | None:
        """The number of submissions left today, at least 0: a merged team can be over the limit."""
        return _left(self.max_daily, self.used_today)

    @property
    def left_total(self) -> int | None:
        """The number of submissions left in the competition."""
        return _left(self.max_total, self.used_total)

    def with_one_more(self) -> "Allowance":
        """Return the allowance after the acceptance of a file that uses a slot."""
        return replace(
            self, used_today=self.used_today + 1, used_total=self.used_total + 1, pending=self.pending + 1
        )

    @property
    def left(self) -> int | None:
        """The number of submissions that the team can still make today, or None if there is no limit."""
        return min((left for left in (self.left_today, self.left_total) if left is not None), default=None)


def allowance(session: Session, *, competition: Competition, team: Team | None, now: datetime) -> Allowance:
    """Return the allowance of a team; a person without a team has used nothing."""
    values = {
        "competition_id": competition.id,
        "team_id": None if team is None else team.id,
        "today": _day(now),
        "rejected_after": now - REJECTIONS_COUNT_FOR,
        "earlier_rejections": competition.max_hourly_rejections - 1,
    }
    figures = session.execute(_FIGURES, values).one()
    used_today, used_total, pending, granted_today, granted_in_all, full_since = figures
    return Allowance(
        max_daily=_raised(competition.max_daily_submissions, int(granted_today)),
        max_total=_raised(competition.max_total_submissions, int(granted_in_all)),
        max_pending=competition.max_pending_submissions,
        max_rejections=competition.max_hourly_rejections,
        used_today=used_today,
        used_total=used_total,
        pending=pending,
        rejections_full_since=full_since,
        resets_at=next_reset(now),
        granted_today=int(granted_today),
    )


def refusal(allowance: Allowance, *, now: datetime) -> SubmissionLimitReached | None:
    """Return the limit that prevents a team from submitting now, or None if there is none."""
    total, daily = allowance.max_total, allowance.max_daily
    if total is not None and allowance.left_total == 0:
        used = counted(total, "submission")
        message = f"Your team has reached the limit of {used} in this competition, so it cannot submit again."
        return SubmissionLimitReached("total_limit_reached", message, limit=total, retry_at=None, now=now)
    if daily is not None and allowance.left_today == 0:
        used = counted(daily, "submission")
        message = (
            f"Your team has reached today's limit of {used}. This file does not count as a "
            "submission. The limit resets at 00:00 UTC."
        )
        at = next_reset(now)
        return SubmissionLimitReached(
            "daily_limit_reached", message, limit=daily, retry_at=at, now=now, resets_at=at
        )
    if allowance.pending >= (most := allowance.max_pending):
        message = (
            f"Your team has {counted(most, 'file')} without a result, which is the maximum. This file does "
            "not count as a submission. Submit it again after the next result."
        )
        at = now + PENDING_RETRY
        return SubmissionLimitReached("too_many_pending", message, limit=most, retry_at=at, now=now)
    if allowance.rejections_full_since is not None:
        at, most = allowance.rejections_full_since + REJECTIONS_COUNT_FOR, allowance.max_rejections
        message = (
            f"Your team has reached the limit of {counted(most, 'rejected file')} within an hour. Check your "
            f"file, then submit it after {at:%H:%M:%S} UTC."
        )
        return SubmissionLimitReached("too_many_rejections", message, limit=most, retry_at=at, now=now)
    return None


def has_failed_metric(submission: Submission) -> bool:
    """Return whether the metric failed, rather than the server."""
    return submission.status is SubmissionStatus.FAILED and bool(submission.problems)


def update_slot(submission: Submission) -> None:
    """Assign or release a submission's slot on its UTC day, depending on its status.

    A submission that failed for reasons in `problems`, such as an error of the metric, keeps its slot.
    """
    is_used = submission.status in _SLOT_STATUSES or has_failed_metric(submission)
    holds = submission.kind in _LIMITED_KINDS and is_used
    submission.slot_day = _day(submission.submitted_at) if holds else None


def granted_by_now(
    session: Session, *, competition: Competition, teams: Collection[Team], now: datetime
) -> int:
    """Return the number of submissions granted to all teams or to one of these teams, up to this day."""
    whose = SubmissionGrant.team_id.in_([team.id for team in teams])
    query = select(func.coalesce(func.sum(SubmissionGrant.count), 0)).where(
        SubmissionGrant.competition_id == competition.id,
        SubmissionGrant.day <= _day(now),
        or_(SubmissionGrant.team_id.is_(None), whose),
    )
    return int(session.scalar(query) or 0)


def next_reset(now: datetime) -> datetime:
    """Return the start of the next UTC day."""
    return datetime.combine(_day(now) + timedelta(days=1), time(tzinfo=UTC))


def _figures() -> Select[Any]:
    """Return the query for the used slots, the extra submissions and the oldest counting rejection."""
    mine, today = Submission.team_id == bindparam("team_id"), bindparam("today", type_=Date)
    used = select(
        func.count().filter(Submission.slot_day == today),
        func.count(),
        func.count().filter(Submission.status == SubmissionStatus.PENDING),
    ).where(mine, Submission.slot_day.is_not(None))
    today_sum = func.sum(SubmissionGrant.count).filter(SubmissionGrant.day == today)
    granted = select(func.coalesce(today_sum, 0), func.coalesce(func.sum(SubmissionGrant.count), 0)).where(
        SubmissionGrant.competition_id == bindparam("competition_id"),
        SubmissionGrant.day <= today,
        or_(SubmissionGrant.team_id.is_(None), SubmissionGrant.team_id == bindparam("team_id")),
    )
    full_since = (
        select(Submission.finished_at)
        .where(
            mine,
            Submission.status == SubmissionStatus.REJECTED,
            Submission.finished_at > bindparam("rejected_after"),
        )
        .order_by(Submission.finished_at.desc(), Submission.id.desc())
        .offset(bindparam("earlier_rejections", type_=Integer))
        .limit(1)
        .scalar_subquery()
    )
    both = used.subquery().join(granted.subquery(), true())
    return select(*both.c, full_since).select_from(both)


_FIGURES = _figures()  # Every upload and most pages use it.


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(0, limit - used)


def _raised(limit: int | None, extra: int) -> int | None:
    return None if limit is None else limit + extra


def _day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()

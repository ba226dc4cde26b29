"""Extra submissions granted by organizers to one team or all teams."""

from collections.abc import Iterable
from datetime import UTC, date, datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import Competition, SubmissionGrant, Team
from grader.services.competitions.acting import Act
from grader.services.site import log
from grader.text import counted, one_line

MAX_COUNT = 1000
REASON_MAX_LENGTH = 500
LISTED = 50


def grant(act: Act, *, team: Team | None, day: date | None, count: int, reason: str) -> SubmissionGrant:
    """Grant extra submissions on a UTC day to one team or all teams; raise OrganizerRefusal.

    The grant raises the limit of that day and, from that day on, the total limit. Grants add up.
    """
    reason = one_line(reason, REASON_MAX_LENGTH)
    problems = list(_problems(act.competition, team, day, count, reason, act.now))
    if problems or day is None:
        raise OrganizerRefusal("invalid_grant", ErrorKind.CONFLICT, problems=problems)
    made = SubmissionGrant(
        competition_id=act.competition.id,
        team_id=None if team is None else team.id,
        day=day,
        count=count,
        reason=reason,
        granted_at=act.now,
    )
    act.session.add(made)
    act.session.flush()
    whose = "all teams" if team is None else f"team {log.mention(team)}"
    act.record(
        "grant.give",
        whose,
        after={"day": day.isoformat(), "count": count},
        reason=reason,
        public_text=f"{counted(count, 'extra submission')} for {whose} on {day:%-d %b %Y} (UTC): {reason}",
    )
    return made


def list_newest(
    session: Session, *, competition: Competition, team: Team | None = None
) -> list[SubmissionGrant]:
    """Return the newest grants of a competition, or those that apply to a team."""
    query = (
        select(SubmissionGrant)
        .options(joinedload(SubmissionGrant.team))
        .where(SubmissionGrant.competition_id == competition.id)
        .order_by(SubmissionGrant.id.desc())
        .limit(LISTED)
    )
    if team is not None:
        query = query.where(or_(SubmissionGrant.team_id.is_(None), SubmissionGrant.team_id == team.id))
    return list(session.scalars(query))


def _problems(
    competition: Competition, team: Team | None, day: date | None, count: int, reason: str, now: datetime
) -> Iterable[str]:
    if not 1 <= count <= MAX_COUNT:
        yield f"Enter 1 to {MAX_COUNT:,} extra submissions, not {count:,}."
    last_day = competition.closes_at and competition.closes_at.astimezone(UTC).date()
    if day is None:
        yield "Enter the day as a date, such as 2026-03-14."
    elif day < now.astimezone(UTC).date():
        yield f"The day {day:%-d %b %Y} (UTC) is in the past. Choose today or a later day."
    if day and last_day and day > last_day and not competition.takes_late_submissions:
        yield f"The day {day:%-d %b %Y} (UTC) is after the close, and late submissions are not accepted."
    if not reason:
        yield "Enter a reason. It is shown in the public log."
    if team is not None and (team.competition_id != competition.id or team.merged_into_id is not None):
        yield f"The team {team.name} no longer competes in this competition."
    if competition.max_daily_submissions is None and competition.max_total_submissions is None:
        yield "This competition has neither a daily nor a total limit, so extra submissions have no effect."

"""Marks of lines that an organizer looked at: nothing wrong, and why."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, OrganizerError
from grader.models import Competition, FairPlayMark
from grader.services.audit.log import Actor
from grader.services.competitions import acting
from grader.services.fair_play import report

REASON_MAX_LENGTH = 500


class ReasonNeeded(OrganizerError):
    """A mark says why nothing is wrong."""

    public_name = "reason_needed"
    message = f"Say in up to {REASON_MAX_LENGTH} characters why nothing is wrong."


class UnknownLine(OrganizerError):
    """A mark is for a line that the page has."""

    public_name = "unknown_line"
    kind = ErrorKind.NOT_FOUND
    message = "The page Fair play has no such line."


def team_line(team_id: int) -> str:
    """Return what names the line of a team."""
    return f"team {team_id}"


def pair_line(one_id: int, other_id: int) -> str:
    """Return what names the line of two files."""
    return f"submissions {one_id} and {other_id}"


def canary_line(submission_id: int) -> str:
    """Return what names the line of a file that follows the canary rows."""
    return f"submission {submission_id} and canary rows"


def mark(
    session: Session,
    *,
    competition: Competition,
    line: str,
    reason: str,
    actor: Actor,
    now: datetime | None = None,
) -> FairPlayMark:
    """Mark a line as looked at, or give it another reason; raise ReasonNeeded and UnknownLine."""
    if not reason.strip() or len(reason) > REASON_MAX_LENGTH:
        raise ReasonNeeded
    if line not in _lines(session, competition):
        raise UnknownLine
    act = acting.begin(session, competition=competition, actor=actor, now=now)
    found = session.scalar(
        select(FairPlayMark).where(FairPlayMark.competition_id == competition.id, FairPlayMark.line == line)
    )
    if found is None:
        found = FairPlayMark(competition_id=competition.id, line=line)
        session.add(found)
    found.reason, found.marked_at = reason.strip(), act.now
    found.marked_by_id = actor.user.id if actor.user else None
    act.record("fair_play.mark", found.line, reason=found.reason)
    return found


def _lines(session: Session, competition: Competition) -> set[str]:
    last = report.last(session, competition=competition)
    if last is None:
        return set()
    _, found = last
    teams = {team_line(team.team_id) for team in found.teams}
    followers = found.canaries.followers if found.canaries else ()
    files = {canary_line(file.submission_id) for file in followers}
    return teams | files | {pair_line(pair.one_id, pair.other_id) for pair in found.pairs}


def by_line(session: Session, *, competition: Competition) -> dict[str, FairPlayMark]:
    """Return all marks of a competition by their lines."""
    found = session.scalars(
        select(FairPlayMark)
        .where(FairPlayMark.competition_id == competition.id)
        .options(joinedload(FairPlayMark.marked_by))
    )
    return {each.line: each for each in found}

"""Notice about a published rescoring: e-mail, and a team's old and new scores."""

from datetime import datetime

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from grader.models import Competition, ScoringVersion, Team, TeamMember, User
from grader.services.competitions import phases
from grader.services.leaderboards import score_history, shown_scores
from grader.services.leaderboards.score_history import OwnScore
from grader.services.rescoring import preparation
from grader.services.site import letters, outbox
from grader.visibility import Viewer, visible_fields


def latest(competition: Competition) -> ScoringVersion | None:
    """Return the live scoring version if it replaced another one."""
    version = competition.live_scoring_version
    return None if version is None or version.replaced_number is None else version


def news(competition: Competition) -> ScoringVersion | None:
    """Return the last publication of a rescoring, or None if the reveal came after it."""
    published, revealed_at = latest(competition), competition.revealed_at
    is_old = published and published.published_at and revealed_at and published.published_at < revealed_at
    return None if is_old else published


def of_team(
    session: Session, *, competition: Competition, team: Team, now: datetime
) -> list[tuple[OwnScore, OwnScore]]:
    """Return a team's displayed scores before and after the last publication, newest first."""
    version = latest(competition)
    if version is None or version.replaced_number is None:
        return []
    replaced = preparation.get(session, competition=competition, number=version.replaced_number)
    allowed = visible_fields(Viewer.TEAM, phases.phase(competition, now), competition.feedback)
    before, after = (
        score_history.own_scores(session, team=team, version=each, allowed=allowed)
        for each in (replaced, version)
    )
    return [
        (old, new)
        for old, new in reversed(list(zip(before, after, strict=True)))
        if (old.score or new.score) and new.submission.kind in shown_scores.KINDS
    ]


def write(session: Session, *, competition: Competition, version: ScoringVersion, now: datetime) -> None:
    """E-mail the message to the members of all teams."""
    letters.send(
        session,
        "rescored",
        session.scalars(_members(competition)),
        kind=outbox.Notice.RESULTS,
        key=f"rescored:{version.id}:{now:%Y%m%dT%H%M%S%f}",
        competition=competition,
        version=version,
        now=now,
    )


def count_readers(session: Session, *, competition: Competition) -> int:
    """Return the number of team members who would receive a message."""
    return outbox.count_readers(session, _members(competition), outbox.Notice.RESULTS)


def _members(competition: Competition) -> Select[User]:
    of_team = select(TeamMember.user_id).where(TeamMember.competition_id == competition.id)
    return select(User).where(User.id.in_(of_team)).order_by(User.id)

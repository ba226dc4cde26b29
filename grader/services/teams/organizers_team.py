"""Organizers' team for test submissions, without members or a rank."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Competition, Team
from grader.services.teams import rosters

NAME = "Organizers"


def find(session: Session, *, competition: Competition) -> Team | None:
    """Return the organizers' team of a competition, or None before its first file."""
    return session.scalar(select(Team).where(Team.competition_id == competition.id, Team.is_organizers))


def require(session: Session, *, competition: Competition, now: datetime) -> Team:
    """Return the organizers' team of a locked competition; create it on first use."""
    team = find(session, competition=competition)
    if team is not None:
        return team
    made = Team(competition_id=competition.id, created_at=now, is_organizers=True)
    rosters.set_name(made, rosters.free_name(session, competition=competition, name=NAME))
    session.add(made)
    session.flush()
    return made

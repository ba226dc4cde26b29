"""Students of a class: links to their accounts, and teams of their sections."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from grader.models import Competition, RosterEntry, SectionUse, Team, TeamMember, User
from grader.services.teams import rosters


def enter(session: Session, *, competition: Competition, user: User, now: datetime) -> None:
    """Link a user who enters to the roster, and add the user to the team of the section."""
    entry = rosters.student(session, competition=competition, user=user)
    if entry is not None:
        entry.user_id = user.id
        session.flush()
        if competition.section_use is SectionUse.TEAMS:
            place(session, competition=competition, entries=[entry], now=now)


def place(
    session: Session, *, competition: Competition, entries: Iterable[RosterEntry], now: datetime
) -> None:
    """Add linked students without a team to the team of their section, which the first student leads.

    Students for whom the team has no room stay without a team.
    """
    in_teams = select(TeamMember.user_id).where(TeamMember.competition_id == competition.id)
    members = set(session.scalars(in_teams))
    here = Team.competition_id == competition.id, RosterEntry.competition_id == competition.id
    of_students = select(Team).join(TeamMember).join(RosterEntry, RosterEntry.user_id == TeamMember.user_id)
    waiting: dict[str, list[User]] = {}
    for entry in entries:
        if entry.section and entry.user is not None and entry.user_id not in members:
            waiting.setdefault(entry.section, []).append(entry.user)
    for section, users in waiting.items():
        most_first = func.count().desc(), Team.id  # students may have moved to another section
        of_section = of_students.where(*here, RosterEntry.section == section).group_by(Team.id)
        team = session.scalar(of_section.order_by(*most_first).limit(1))
        if team is None:
            name = rosters.free_name(session, competition=competition, name=section)
            leader = users.pop(0)
            team = rosters.make_team(session, competition=competition, user=leader, name=name, now=now)
        room = competition.max_team_size - rosters.count_members(session, team=team)
        for user in users[: max(0, room)]:
            rosters.add_member(session, team=team, user=user, now=now)

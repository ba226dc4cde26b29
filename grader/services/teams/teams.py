"""What members do with their team: create it, rename it, leave it, make another member the leader."""

from datetime import datetime

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from grader.models import Competition, Team, TeamMember, User
from grader.services.people import names
from grader.services.teams import moderation, participations, rosters
from grader.services.teams.rosters import AlreadyInTeam, TeamRefusal


class TeamNameTaken(TeamRefusal):
    """Another team of the competition has this name, or one that looks like it."""

    public_name = "team_name_taken"
    message = "The name {name!r} is taken by another team, or looks like one that is."


class NotAMember(TeamRefusal):
    """Somebody is not in the team."""

    public_name = "not_amember"
    message = "This person is not in your team."


class LastMember(TeamRefusal):
    """Submissions need somebody whose they are."""

    public_name = "last_member"
    message = "You are the last member of a team that has submitted, so you cannot leave it."


def create(
    session: Session, *, competition: Competition, user: User, name: str, now: datetime | None = None
) -> Team:
    """Make a team of one with a name of the person's choice.

    Raises EntryRefused, AlreadyInTeam, InvalidName, ReservedName, TeamNameTaken, NameTakenAway.
    """
    shown = names.clean_name(name)
    competition, now = rosters.lock(session, competition=competition, now=now)
    participation = participations.require_joined(session, competition=competition, user=user, now=now)
    present = rosters.find_team(session, competition=competition, user=user)
    if present is not None:
        raise AlreadyInTeam(team=present)
    participations.require_unbound(session, participation)
    _require_free(session, competition, shown)
    return rosters.make_team(session, competition=competition, user=user, name=shown, now=now)


def rename(
    session: Session, *, competition: Competition, user: User, name: str, now: datetime | None = None
) -> Team:
    """Give the team that the person leads another name, until the close.

    Raises NotInTeam, NotLeader, TeamsFrozen, InvalidName, ReservedName, TeamNameTaken, NameHeld,
    NameTakenAway.
    """
    shown = names.clean_name(name)
    competition, now = rosters.lock(session, competition=competition, now=now)
    team = rosters.require_led_team(session, competition=competition, user=user)
    rosters.require_running(competition, now)
    _require_free(session, competition, shown, but_for=team)
    rosters.set_name(team, shown)
    session.flush()
    return team


def leave(session: Session, *, competition: Competition, user: User, now: datetime | None = None) -> Team:
    """Take the person out of their team, until the close; the longest member leads on.

    A team that nobody is left in ends, unless it has submitted. Raises NotInTeam, TeamsFrozen, LastMember.
    """
    competition, now = rosters.lock(session, competition=competition, now=now)
    team = rosters.require_team(session, competition=competition, user=user)
    rosters.require_running(competition, now)
    others = [each for each in rosters.present(session, team=team) if each.user_id != user.id]
    if not others and rosters.has_submissions(session, team=team):
        raise LastMember
    rosters.remove_member(session, team=team, user=user)
    return team


def hand_over(
    session: Session, *, competition: Competition, user: User, to_user_id: int, now: datetime | None = None
) -> Team:
    """Let another member lead; raise NotInTeam, NotLeader, NotAMember."""
    competition, now = rosters.lock(session, competition=competition, now=now)
    team = rosters.require_led_team(session, competition=competition, user=user)
    is_member = exists().where(TeamMember.team_id == team.id, TeamMember.user_id == to_user_id)
    if not session.scalar(select(is_member)):
        raise NotAMember
    team.leader_id = to_user_id
    session.flush()
    return team


def _require_free(
    session: Session, competition: Competition, name: str, *, but_for: Team | None = None
) -> None:
    names.require_unreserved(name)
    moderation.require_choosable(session, competition=competition, name=name, team=but_for)
    if names.is_taken_by_team(session, competition=competition, name=name, but_for=but_for):
        raise TeamNameTaken(name=name)

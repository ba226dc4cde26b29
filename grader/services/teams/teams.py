"""Team management by members: create, rename, leave, change the leader."""

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from grader.models import Competition, CompetitionState, Team, TeamMember
from grader.services.competitions.acting import Act
from grader.services.identity import names
from grader.services.teams import participations, rosters
from grader.services.teams.rosters import AlreadyInTeam, Disqualified, TeamRefusal, TeamsFrozen


class TeamNameTaken(TeamRefusal):
    """Another team of the competition has this name or a similar-looking one."""

    public_name = "team_name_taken"
    message = "The name {name!r} is taken or looks too similar to another team's name. Choose another name."


class NotAMember(TeamRefusal):
    """The person is not in the team."""

    public_name = "not_a_member"
    message = "This user is not in your team."


class LastMember(TeamRefusal):
    """The last member of a team that has submitted cannot leave the team."""

    public_name = "last_member"
    message = "You are the last member of a team that has submitted files, so you cannot leave it."


class NameFixed(TeamRefusal):
    """The organizers renamed the team, so the team cannot change its name."""

    public_name = "name_fixed"
    message = "The organizers renamed your team. Only they can change its name."


def create(act: Act, *, name: str) -> Team:
    """Create a team for the person under a name of their choice.

    Raises TeamsFrozen, EntryRefused, AlreadyInTeam, InvalidName, ReservedName or
    TeamNameTaken.
    """
    shown = names.clean_name(name)
    if act.competition.state is CompetitionState.ARCHIVED:
        raise TeamsFrozen(act.competition.closes_at)
    participation = participations.require_joined(
        act.session, competition=act.competition, user=act.user, now=act.now
    )
    present = rosters.find_team(act.session, competition=act.competition, user=act.user)
    if present is not None:
        raise AlreadyInTeam(team=present)
    participations.require_unbound(act.session, participation)
    _require_free(act.session, act.competition, shown)
    return rosters.make_team(act.session, competition=act.competition, user=act.user, name=shown, now=act.now)


def rename(act: Act, *, name: str) -> Team:
    """Rename the team that the person leads, until the close.

    Raises NotInTeam, NotLeader, TeamsFrozen, InvalidName, ReservedName, TeamNameTaken or
    NameFixed.
    """
    shown = names.clean_name(name)
    team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    rosters.require_running(act.competition, act.now)
    if team.is_name_fixed:
        raise NameFixed
    _require_free(act.session, act.competition, shown, but_for=team)
    rosters.set_name(team, shown)
    act.session.flush()
    return team


def leave(act: Act) -> Team:
    """Remove the person from their team, until the close.

    If the leader leaves, the member who joined first becomes the leader. The last member can leave only if
    the team has no accepted file; the team is then deleted. Raises NotInTeam, TeamsFrozen, Disqualified or
    LastMember.
    """
    team = rosters.require_team(act.session, competition=act.competition, user=act.user)
    rosters.require_running(act.competition, act.now)
    others = [each for each in rosters.present(act.session, team=team) if each.user_id != act.user.id]
    if not others and team.is_disqualified:
        raise Disqualified(name=team.name)
    if not others and rosters.binds(act.session, team=team):
        raise LastMember
    rosters.remove_member(act.session, team=team, user=act.user)
    return team


def hand_over(act: Act, *, to_user_id: int) -> Team:
    """Make another member the leader; raise NotInTeam, NotLeader or NotAMember."""
    team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    is_member = exists().where(TeamMember.team_id == team.id, TeamMember.user_id == to_user_id)
    if not act.session.scalar(select(is_member)):
        raise NotAMember
    team.leader_id = to_user_id
    act.session.flush()
    return team


def _require_free(
    session: Session, competition: Competition, name: str, *, but_for: Team | None = None
) -> None:
    names.require_unreserved(name)
    if names.is_taken_by_team(session, competition=competition, name=name, but_for=but_for):
        raise TeamNameTaken(name=name)

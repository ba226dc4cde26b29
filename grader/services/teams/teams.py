"""Team management by members: create, rename, leave, change the leader."""

from sqlalchemy import exists, select

from grader.errors import ErrorKind, Refusal
from grader.models import CompetitionState, Team, TeamMember
from grader.services.competitions.acting import Act
from grader.services.teams import participations, rosters


def create(act: Act, *, name: str) -> Team:
    """Create a team for the person under a name of their choice; raise Refusal or InvalidName."""
    if act.competition.state is CompetitionState.ARCHIVED:
        raise rosters.frozen(act.competition.closes_at)
    participations.require_joined(act.session, competition=act.competition, user=act.user, now=act.now)
    present = rosters.find_team(act.session, competition=act.competition, user=act.user)
    if present is not None:
        raise rosters.already_in_team(present)
    participations.require_one_team(act.session, competition=act.competition, users=[act.user.id], teams=())
    shown = rosters.new_name(act.session, competition=act.competition, name=name)
    return rosters.make_team(act.session, competition=act.competition, user=act.user, name=shown, now=act.now)


def rename(act: Act, *, name: str) -> Team:
    """Rename the team that the person leads, until the close; raise Refusal or InvalidName."""
    team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    rosters.require_running(act.competition, act.now)
    if team.is_name_fixed:
        message = "The organizers renamed your team. Only they can change its name."
        raise Refusal("name_fixed", ErrorKind.CONFLICT, message)
    rosters.set_name(team, rosters.new_name(act.session, competition=act.competition, name=name, of=team))
    act.session.flush()
    return team


def leave(act: Act) -> Team:
    """Remove the person from their team, until the close; raise Refusal.

    A team with a counting file cannot be left, only merged. If the leader leaves, the member who joined first
    becomes the leader. A team without members is deleted.
    """
    team = rosters.require_team(act.session, competition=act.competition, user=act.user)
    rosters.require_running(act.competition, act.now)
    rosters.require_leavable(act.session, team=team)
    rosters.remove_member(act.session, team=team, user=act.user)
    return team


def hand_over(act: Act, *, to_user_id: int) -> Team:
    """Make another member the leader; raise Refusal."""
    team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    is_member = exists().where(TeamMember.team_id == team.id, TeamMember.user_id == to_user_id)
    if not act.session.scalar(select(is_member)):
        raise Refusal("not_a_member", ErrorKind.CONFLICT, "This user is not in your team.")
    team.leader_id = to_user_id
    act.session.flush()
    return team

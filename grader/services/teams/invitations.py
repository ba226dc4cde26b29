"""Team invitations by link or user name: create, accept, decline, withdraw."""

import hashlib
import secrets
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind
from grader.models import Competition, Team, TeamInvite, TeamMember, User
from grader.services.competitions.acting import Act
from grader.services.identity import names
from grader.services.site import mail_limits as limits
from grader.services.teams import mail, participations, rosters
from grader.services.teams.rosters import AlreadyInTeam, Disqualified, TeamFull, TeamRefusal, TeamsFrozen


class UnknownInvitation(TeamRefusal):
    """The invitation does not exist, has ended or can no longer be used."""

    public_name = "unknown_invitation"
    kind = ErrorKind.NOT_FOUND
    message = (
        "This invitation is not valid. It may have been used, withdrawn or replaced, or team changes are "
        "no longer possible."
    )


class AlreadyInvited(TeamRefusal):
    """The team has already invited this person, who has not responded."""

    public_name = "already_invited"
    message = "Your team has already invited {name}, who has not responded yet."


class AlreadyMember(TeamRefusal):
    """The person is already in the team."""

    public_name = "already_member"
    message = "{name} is already in your team."


class MustMerge(TeamRefusal):
    """The person's team has submitted, so it can only merge with another as a whole."""

    public_name = "must_merge"
    message = (
        "Your team {team.name} has submitted files, so its members cannot join another team. "
        "The leaders can merge the two teams."
    )


class MustLeave(TeamRefusal):
    """The person is in a team with other members."""

    public_name = "must_leave"
    message = "You are in the team {team.name}. Leave it before you join another."


def make_link(act: Act) -> str:
    """Create an invitation link and return its token, which is shown only once.

    The link replaces the team's earlier one. Raises NotInTeam, NotLeader, TeamsFrozen or TooMuchMail.
    """
    team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    rosters.require_changeable(act.competition, act.now)
    limits.count_link(act.session, team=team, now=act.now)
    _end_links(act.session, team, act.now)
    token = secrets.token_urlsafe(24)
    act.session.add(
        TeamInvite(
            team_id=team.id, token_sha256=_sha256(token), created_by_id=act.user.id, created_at=act.now
        )
    )
    act.session.flush()
    return token


def revoke_link(act: Act) -> None:
    """Revoke the team's invitation link; raise NotInTeam or NotLeader."""
    _end_links(
        act.session,
        rosters.require_led_team(act.session, competition=act.competition, user=act.user),
        act.now,
    )


def invite(act: Act, *, name: str) -> TeamInvite:
    """Invite a person by name; every member may do this.

    Raises NotInTeam, TeamsFrozen, Disqualified, TeamFull, UnknownUser, AlreadyMember, AlreadyInvited or
    TooMuchMail.
    """
    team = rosters.require_team(act.session, competition=act.competition, user=act.user)
    rosters.require_changeable(act.competition, act.now)
    _require_place(act.session, act.competition, team)
    invited = names.get_user(act.session, name=name)
    if any(member.user_id == invited.id for member in rosters.members(act.session, team=team)):
        raise AlreadyMember(name=invited.name)
    if any(each.user_id == invited.id for each in of_team(act.session, team=team)):
        raise AlreadyInvited(name=invited.name)
    limits.count_invitation(act.session, team=team, by=act.user, to=invited, now=act.now)
    invitation = TeamInvite(team=team, user=invited, created_by_id=act.user.id, created_at=act.now)
    act.session.add(invitation)
    act.session.flush()
    mail.invited(act.session, competition=act.competition, invitation=invitation, by=act.user, now=act.now)
    return invitation


def withdraw(act: Act, *, invite_id: int) -> None:
    """Withdraw an invitation from the person's team; only the leader and the sender may do this.

    Raises NotInTeam, UnknownInvitation or NotLeader.
    """
    team = rosters.require_team(act.session, competition=act.competition, user=act.user)
    invitation = next((each for each in of_team(act.session, team=team) if each.id == invite_id), None)
    if invitation is None:
        raise UnknownInvitation
    if act.user.id not in (team.leader_id, invitation.created_by_id):
        raise rosters.NotLeader(team)
    invitation.ended_at = act.now
    act.session.flush()


def decline(act: Act, *, invite_id: int) -> None:
    """Decline an invitation; raise UnknownInvitation if it is not addressed to the person."""
    _own(act.session, act.competition, act.user, invite_id).ended_at = act.now
    act.session.flush()


def accept(act: Act, *, invite_id: int) -> Team:
    """Join the team that invited the person by name.

    Raises UnknownInvitation or the errors of `_enter`.
    """
    invitation = _own(act.session, act.competition, act.user, invite_id)
    _enter(act.session, act.competition, invitation.team, act.user, act.now)
    return invitation.team


def accept_link(act: Act, *, token: str) -> Team:
    """Join the team of an invitation link; raise UnknownInvitation or the errors of `_enter`."""
    team = open_link(act.session, competition=act.competition, token=token, now=act.now).team
    _enter(act.session, act.competition, team, act.user, act.now)
    return team


def open_link(session: Session, *, competition: Competition, token: str, now: datetime) -> TeamInvite:
    """Return the invitation link with this token, with its team and creator.

    Raises UnknownInvitation if there is no such link or teams can no longer change.
    """
    invite = session.scalar(
        select(TeamInvite)
        .join(TeamInvite.team)
        .where(
            TeamInvite.token_sha256 == _sha256(token),
            TeamInvite.ended_at.is_(None),
            Team.competition_id == competition.id,
        )
        .options(joinedload(TeamInvite.team), joinedload(TeamInvite.created_by))
        .execution_options(populate_existing=True)
    )
    if invite is None or not _can_change(competition, now):
        raise UnknownInvitation
    return invite


def link_of(session: Session, *, team: Team) -> TeamInvite | None:
    """Return the team's invitation link without its token, which is not stored; None if there is no link."""
    return session.scalar(
        select(TeamInvite).where(
            TeamInvite.team_id == team.id, TeamInvite.user_id.is_(None), TeamInvite.ended_at.is_(None)
        )
    )


def of_team(session: Session, *, team: Team) -> list[TeamInvite]:
    """Return the team's open invitations to named people, oldest first."""
    query = select(TeamInvite).where(
        TeamInvite.team_id == team.id, TeamInvite.user_id.is_not(None), TeamInvite.ended_at.is_(None)
    )
    return list(session.scalars(query.options(joinedload(TeamInvite.user)).order_by(TeamInvite.id)))


def of_person(session: Session, *, competition: Competition, user: User) -> list[TeamInvite]:
    """Return a person's open invitations in a competition, oldest first."""
    query = (
        select(TeamInvite)
        .join(TeamInvite.team)
        .where(
            TeamInvite.user_id == user.id,
            TeamInvite.ended_at.is_(None),
            Team.competition_id == competition.id,
        )
        .options(joinedload(TeamInvite.team))
    )
    return list(session.scalars(query.order_by(TeamInvite.id)))


def end_all(session: Session, *, team: Team, now: datetime) -> None:
    """End the link and all invitations of a team."""
    session.execute(
        update(TeamInvite)
        .where(TeamInvite.team_id == team.id, TeamInvite.ended_at.is_(None))
        .values(ended_at=now)
    )


def end_of_members(session: Session, *, team: Team, now: datetime) -> None:
    """End the invitations of people who are now in the team."""
    inside = select(TeamMember.user_id).where(TeamMember.team_id == team.id)
    session.execute(
        update(TeamInvite)
        .where(TeamInvite.team_id == team.id, TeamInvite.user_id.in_(inside), TeamInvite.ended_at.is_(None))
        .values(ended_at=now)
    )


def _enter(session: Session, competition: Competition, team: Team, user: User, now: datetime) -> None:
    """Add a person to the team, and end the team's invitation to that person.

    Raises TeamsFrozen, EntryRefused, AlreadyInTeam, MustMerge, MustLeave, Disqualified, LeftTeam or TeamFull.
    A team that consisted only of this person and has no accepted file is deleted.
    """
    rosters.require_changeable(competition, now)
    participation = participations.require_joined(session, competition=competition, user=user, now=now)
    present = rosters.find_team(session, competition=competition, user=user)
    if present is not None:
        _require_free_to_go(session, present, team)
    participations.require_unbound(session, participation, to=team)
    _require_place(session, competition, team)
    if present is not None:
        rosters.remove_member(session, team=present, user=user)
    rosters.add_member(session, team=team, user=user, now=now)
    end_of_members(session, team=team, now=now)


def _can_change(competition: Competition, now: datetime) -> bool:
    try:
        rosters.require_changeable(competition, now)
    except TeamsFrozen:
        return False
    return True


def _require_free_to_go(session: Session, present: Team, wanted: Team) -> None:
    if present.id == wanted.id:
        raise AlreadyInTeam(team=present)
    if present.is_disqualified:
        raise Disqualified(name=present.name)
    if rosters.binds(session, team=present):
        raise MustMerge(team=present)
    if rosters.count_members(session, team=present) > 1:
        raise MustLeave(team=present)


def _require_place(session: Session, competition: Competition, team: Team) -> None:
    if team.is_disqualified:
        raise Disqualified(name=team.name)
    if rosters.count_members(session, team=team) >= competition.max_team_size:
        raise TeamFull(team.name, competition.max_team_size)


def _own(session: Session, competition: Competition, user: User, invite_id: int) -> TeamInvite:
    mine = of_person(session, competition=competition, user=user)
    invite = next((each for each in mine if each.id == invite_id), None)
    if invite is None:
        raise UnknownInvitation
    return invite


def _end_links(session: Session, team: Team, now: datetime) -> None:
    session.execute(
        update(TeamInvite)
        .where(TeamInvite.team_id == team.id, TeamInvite.user_id.is_(None), TeamInvite.ended_at.is_(None))
        .values(ended_at=now)
    )


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()

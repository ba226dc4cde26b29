"""Team invitations by link: create, revoke, accept."""

from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, Refusal
from grader.models import Competition, Team, TeamInvite
from grader.services.competitions.acting import Act
from grader.services.identity import one_time_links
from grader.services.site import mail_limits as limits
from grader.services.teams import participations, rosters
from grader.text import counted


def unknown() -> Refusal:
    """Return the refusal for an invitation that does not exist, has ended or can no longer be used."""
    message = (
        "This invitation is not valid. It may have been withdrawn or replaced, or team changes are no longer "
        "possible."
    )
    return Refusal("unknown_invitation", ErrorKind.NOT_FOUND, message)


def make_link(act: Act) -> str:
    """Create an invitation link and return its token, which is shown only once.

    The link replaces the team's earlier one. Raises Refusal or TooMuchMail.
    """
    team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    rosters.require_changeable(act.competition, act.now)
    limits.count_link(act.session, team=team, now=act.now)
    end(act.session, team=team, now=act.now)
    token = one_time_links.new_secret()
    act.session.add(
        TeamInvite(
            team_id=team.id,
            token_sha256=one_time_links.sha256_of(token),
            created_by_id=act.user.id,
            created_at=act.now,
        )
    )
    act.session.flush()
    return token


def revoke_link(act: Act) -> None:
    """Revoke the team's invitation link; raise Refusal."""
    team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    end(act.session, team=team, now=act.now)


def accept_link(act: Act, *, token: str) -> Team:
    """Join the team of an invitation link; raise Refusal.

    The person leaves a team that consists only of this person and has no counting file.
    """
    team = open_link(act.session, competition=act.competition, token=token, now=act.now).team
    participations.require_joined(act.session, competition=act.competition, user=act.user, now=act.now)
    present = rosters.find_team(act.session, competition=act.competition, user=act.user)
    if present is not None:
        if present.id == team.id:
            raise rosters.already_in_team(present)
        rosters.require_leavable(act.session, team=present)
        if rosters.count_members(act.session, team=present) > 1:
            message = f"You are in the team {present.name}. Leave it before you join another."
            raise Refusal("must_leave", ErrorKind.CONFLICT, message)
    participations.require_one_team(
        act.session, competition=act.competition, users=[act.user.id], teams=[team]
    )
    rosters.require_not_disqualified(team)
    limit = act.competition.max_team_size
    if rosters.count_members(act.session, team=team) >= limit:
        most = counted(limit, "member")
        message = f"The team {team.name} is full. A team in this competition can have at most {most}."
        raise Refusal("team_full", ErrorKind.CONFLICT, message)
    if present is not None:
        rosters.remove_member(act.session, team=present, user=act.user)
    rosters.add_member(act.session, team=team, user=act.user, now=act.now)
    return team


def open_link(session: Session, *, competition: Competition, token: str, now: datetime) -> TeamInvite:
    """Return the invitation link with this token, with its team and creator.

    Raises Refusal if there is no such link or teams can no longer change.
    """
    invite = session.scalar(
        select(TeamInvite)
        .join(TeamInvite.team)
        .where(
            TeamInvite.token_sha256 == one_time_links.sha256_of(token),
            TeamInvite.ended_at.is_(None),
            Team.competition_id == competition.id,
        )
        .options(joinedload(TeamInvite.team), joinedload(TeamInvite.created_by))
        .execution_options(populate_existing=True)
    )
    if invite is None or not rosters.can_change(competition, now):
        raise unknown()
    return invite


def link_of(session: Session, *, team: Team) -> TeamInvite | None:
    """Return the team's invitation link without its token, which is not stored; None if there is no link."""
    return session.scalar(
        select(TeamInvite).where(TeamInvite.team_id == team.id, TeamInvite.ended_at.is_(None))
    )


def end(session: Session, *, team: Team, now: datetime) -> None:
    """End the team's link."""
    is_open = TeamInvite.team_id == team.id, TeamInvite.ended_at.is_(None)
    session.execute(update(TeamInvite).where(*is_open).values(ended_at=now))

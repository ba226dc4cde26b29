"""Delete an account: anonymize the person; teams, submissions and standings stay."""

from datetime import datetime

from sqlalchemy import delete, exists, select, update
from sqlalchemy.orm import Session

from grader.errors import ParticipantError
from grader.models import (
    AccountLink,
    AnnouncedUpload,
    FinalStanding,
    KnownAddress,
    LoginPlace,
    Mail,
    Notification,
    NotificationRead,
    Participation,
    RepeatableRequest,
    RequestState,
    Team,
    TeamInvite,
    TeamMember,
    User,
    Webhook,
)
from grader.services.accounts import api_tokens, logins
from grader.services.competitions import lookup, organizers
from grader.services.people import names
from grader.services.teams import rosters
from grader.services.webhooks import outbox as webhooks

NOTIFIED = (NotificationRead, Notification)
NO_PASSWORD = "!"  # noqa: S105  (no hash: nothing verifies against it)


class LastAdministrator(ParticipantError):
    """Without this account nobody could run the site."""

    public_name = "last_administrator"
    message = "You are the only administrator. Make another one first (`fairboard user create NAME --admin`)."


def delete_account(session: Session, *, user: User, now: datetime) -> None:
    """Anonymize a person and end what acts in their name; their teams, submissions and standings stay.

    A team of one, and any team that bears the person's name, gets a neutral name. Raises LastAdministrator,
    and OnlyOwner where the person is the only owner of a competition.
    """
    if user.is_admin and not _has_other_admin(session, user):
        raise LastAdministrator
    organizers.leave_all(session, user=user, now=now)
    _leave_teams_nameless(session, user)
    person = session.get_one(User, user.id, populate_existing=True)
    _forget_traces(session, person)
    logins.end_all(session, user=person)
    api_tokens.forget_all(session, user=person)
    person.name = names.of_deleted(person.id)
    person.name_folded, person.name_key = names.folded(person.name), names.name_key(person.name)
    person.name_shape = names.name_shape(person.name)
    person.password_hash = NO_PASSWORD
    person.is_admin = False
    person.email = person.email_key = person.email_verified_at = None
    person.about, person.unwanted_notices = "", []
    person.page_key = person.avatar_key = None
    person.deleted_at = now
    session.flush()


def _leave_teams_nameless(session: Session, user: User) -> None:
    """Take the person's name off their teams, whose leader becomes somebody who is there."""
    memberships = session.scalars(
        select(TeamMember).where(TeamMember.user_id == user.id).order_by(TeamMember.competition_id)
    )
    for membership in memberships.all():
        competition = lookup.lock(session, competition_id=membership.competition_id)
        team = session.get_one(Team, membership.team_id, populate_existing=True)
        others = [
            member.user_id
            for member in rosters.members(session, team=team)
            if member.user_id != user.id and member.user.deleted_at is None
        ]
        if team.leader_id == user.id and others:
            team.leader_id = others[0]
        if not others or team.name_key == user.name_key:
            neutral = rosters.free_name(
                session, competition=competition, name=f"Team of {names.of_deleted(user.id)}"
            )
            rosters.set_name(team, neutral)
            session.execute(
                update(FinalStanding).where(FinalStanding.team_id == team.id).values(team_name=neutral)
            )
        session.flush()


def _forget_traces(session: Session, person: User) -> None:
    """Delete links, mails, unused uploads and webhooks, and withdraw what somebody would still decide."""
    for table in (AccountLink, AnnouncedUpload, KnownAddress, LoginPlace, Mail, *NOTIFIED, RepeatableRequest):
        session.execute(delete(table).where(table.user_id == person.id))
    webhooks.remove(session, Webhook.owner_id == person.id)
    session.execute(
        update(Participation)
        .where(Participation.user_id == person.id, Participation.state == RequestState.OPEN)
        .values(state=RequestState.WITHDRAWN)
    )
    session.execute(delete(TeamInvite).where(TeamInvite.user_id == person.id))
    session.execute(delete(TeamInvite).where(TeamInvite.created_by_id == person.id))


def _has_other_admin(session: Session, user: User) -> bool:
    return bool(session.scalar(select(exists().where(User.is_admin, User.id != user.id))))

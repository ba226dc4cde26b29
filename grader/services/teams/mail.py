"""E-mails and notifications on teams: entry, invitations, mergers, disqualification, names."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy.orm import Session

from grader.models import Competition, MergeRequest, Participation, Team, TeamInvite, User
from grader.services.competitions import organizers
from grader.services.mail import outbox
from grader.services.mail.outbox import Notice
from grader.services.notifications import inbox
from grader.services.notifications.inbox import NotificationKind
from grader.services.teams import rosters


def asked_to_join(
    session: Session, *, competition: Competition, participation: Participation, user: User, now: datetime
) -> None:
    """E-mail the organizers that somebody asks to join."""
    for organizer in organizers.to_notify(session, competition=competition):
        outbox.notify(
            session,
            user=organizer,
            kind=Notice.ORGANIZER,
            key=f"asked-to-join:{participation.id}",
            subject=f"{user.name} asks to join {competition.title}",
            body=f"Admit or refuse {user.name} here:\n{_page(competition, 'entries')}",
            now=now,
        )


def decided(session: Session, *, competition: Competition, user: User, admits: bool, now: datetime) -> None:
    """Notify a person of the organizers' decision, by e-mail too."""
    kind = NotificationKind.ADMITTED if admits else NotificationKind.REFUSED
    inbox.tell(session, competition=competition, kind=kind, user=user, now=now)
    body = (
        f"The organizers admitted you to {competition.title}:\n{_page(competition)}"
        if admits
        else f"The organizers did not admit you to {competition.title}."
    )
    _tell(
        session,
        [user],
        f"entry:{competition.id}:{now:%Y%m%dT%H%M%S}",
        f"{competition.title}: entry",
        body,
        now,
    )


def invited(
    session: Session, *, competition: Competition, invitation: TeamInvite, by: User, now: datetime
) -> None:
    """E-mail a person an invitation."""
    if invitation.user is None:
        return
    body = (
        f"{by.name} invites you into the team {invitation.team.name} in {competition.title}. "
        f"Accept or decline here:\n{_page(competition, 'team')}"
    )
    subject = f"{competition.title}: an invitation into the team {invitation.team.name}"
    _tell(session, [invitation.user], f"invited:{invitation.id}", subject, body, now)


def merge_asked(session: Session, *, competition: Competition, request: MergeRequest, now: datetime) -> None:
    """E-mail a merge request to the leader who decides."""
    leader = request.to_team.leader
    if leader is None:
        return
    asking = request.from_team.name
    body = (
        f"The team {asking} asks your team {request.to_team.name} to merge in {competition.title}. "
        f"Accept or refuse here:\n{_page(competition, 'team')}"
    )
    _tell(
        session,
        [leader],
        f"merge-asked:{request.id}",
        f"{competition.title}: {asking} wants to merge",
        body,
        now,
    )


def merge_refused(
    session: Session, *, competition: Competition, request: MergeRequest, now: datetime
) -> None:
    """Notify the team that asked of the refusal, and e-mail its leader."""
    team, leader = request.from_team, request.from_team.leader
    inbox.tell(session, competition=competition, kind=NotificationKind.MERGE_REFUSED, team=team, now=now)
    if leader is None:
        return
    body = f"The team {request.to_team.name} refused to merge with {request.from_team.name}."
    _tell(session, [leader], f"merge-refused:{request.id}", f"{competition.title}: no merge", body, now)


def merged(session: Session, *, competition: Competition, request: MergeRequest, now: datetime) -> None:
    """Notify the members of the merged team, by e-mail too."""
    taken, team = request.to_team.name, request.from_team
    inbox.tell(session, competition=competition, kind=NotificationKind.MERGED, team=team, now=now)
    body = (
        f"The team {taken} is now part of {team.name} in {competition.title}. Members, submissions and used "
        f"limits add up. All selected submissions are kept. If they are more than "
        f"{competition.selection_count}, choose which stay before the close:\n"
        f"{_page(competition, 'submissions')}"
    )
    _tell(
        session,
        _people(session, team),
        f"merged:{request.id}",
        f"{competition.title}: the teams merged",
        body,
        now,
    )


def disqualified(session: Session, *, competition: Competition, team: Team, now: datetime) -> None:
    """Notify a team, by e-mail too, that it is disqualified, why, and how to appeal."""
    body = (
        f"The organizers disqualified your team {team.name} in {competition.title}:\n"
        f"{team.disqualification_reason}\n\n{how_to_appeal(competition.contact)}\n"
        f"{_page(competition, 'team')}"
    )
    _moderated(session, competition, team, NotificationKind.DISQUALIFIED, "disqualified", body, now)


def reinstated(session: Session, *, competition: Competition, team: Team, now: datetime) -> None:
    """Notify a team, by e-mail too, that it is reinstated."""
    body = (
        f"The organizers reinstated your team {team.name} in {competition.title}: it is back on the "
        f"leaderboards.\n{_page(competition, 'team')}"
    )
    _moderated(session, competition, team, NotificationKind.REINSTATED, "reinstated", body, now)


def renamed(session: Session, *, competition: Competition, team: Team, reason: str, now: datetime) -> None:
    """Notify a team, by e-mail too, of its new name and the reason."""
    body = (
        f"The organizers gave your team in {competition.title} the name {team.name}:\n{reason}\n\n"
        f"You cannot change it until they allow it. {how_to_appeal(competition.contact)}\n"
        f"{_page(competition, 'team')}"
    )
    _moderated(session, competition, team, NotificationKind.RENAMED, "renamed", body, now)


def name_freed(session: Session, *, competition: Competition, team: Team, now: datetime) -> None:
    """Notify a team, by e-mail too, that it can choose its name again."""
    body = (
        f"Your team {team.name} in {competition.title} can choose its name again.\n"
        f"{_page(competition, 'team')}"
    )
    _moderated(
        session, competition, team, NotificationKind.NAME_FREED, "allowed to choose its name", body, now
    )


def how_to_appeal(contact: str) -> str:
    """Return the sentence that states how a team objects to what the organizers decided."""
    other = f", or write to the organizers: {contact}" if contact else ""
    return f"To appeal, ask a question on the page of one of your submissions{other}."


def _moderated(
    session: Session,
    competition: Competition,
    team: Team,
    kind: NotificationKind,
    what: str,
    body: str,
    now: datetime,
) -> None:
    inbox.tell(session, competition=competition, kind=kind, team=team, now=now)
    key = f"team-{what}:{team.id}:{now:%Y%m%dT%H%M%S}"
    subject = f"{competition.title}: your team was {what}"
    _tell(session, _people(session, team), key, subject, body, now)


def _people(session: Session, team: Team) -> list[User]:
    return [member.user for member in rosters.members(session, team=team)]


def _tell(session: Session, users: Iterable[User], key: str, subject: str, body: str, now: datetime) -> None:
    for user in users:
        outbox.notify(session, user=user, kind=Notice.TEAM, key=key, subject=subject, body=body, now=now)


def _page(competition: Competition, page: str = "") -> str:
    return f"{outbox.SITE}/competitions/{competition.slug}" + (f"/{page}" if page else "")

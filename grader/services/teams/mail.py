"""E-mails on teams: request to join and its answer, invitation, merge request, disqualification, new name."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy.orm import Session

from grader.models import Competition, MergeRequest, Participation, Team, TeamInvite, User
from grader.services.competitions import organizers
from grader.services.mail import outbox
from grader.services.mail.outbox import Notice
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
    """E-mail a person the organizers' decision."""
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
    """E-mail the leader who asked that the other team refused."""
    leader = request.from_team.leader
    if leader is None:
        return
    body = f"The team {request.to_team.name} refused to merge with {request.from_team.name}."
    _tell(session, [leader], f"merge-refused:{request.id}", f"{competition.title}: no merge", body, now)


def merged(session: Session, *, competition: Competition, request: MergeRequest, now: datetime) -> None:
    """E-mail all members of the merged team."""
    taken, team = request.to_team.name, request.from_team
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
    """E-mail a team that it is disqualified, why, and how to appeal."""
    body = (
        f"The organizers disqualified your team {team.name} in {competition.title}:\n"
        f"{team.disqualification_reason}\n\n{how_to_appeal(competition)}\n{_page(competition, 'team')}"
    )
    _moderated(session, competition, team, "disqualified", body, now)


def reinstated(session: Session, *, competition: Competition, team: Team, now: datetime) -> None:
    """E-mail a team that it is reinstated."""
    body = (
        f"The organizers reinstated your team {team.name} in {competition.title}: it is back on the "
        f"leaderboards.\n{_page(competition, 'team')}"
    )
    _moderated(session, competition, team, "reinstated", body, now)


def renamed(session: Session, *, competition: Competition, team: Team, reason: str, now: datetime) -> None:
    """E-mail a team its new name and the reason."""
    body = (
        f"The organizers gave your team in {competition.title} the name {team.name}:\n{reason}\n\n"
        f"You cannot change it until they allow it. {how_to_appeal(competition)}\n"
        f"{_page(competition, 'team')}"
    )
    _moderated(session, competition, team, "renamed", body, now)


def name_freed(session: Session, *, competition: Competition, team: Team, now: datetime) -> None:
    """E-mail a team that it can choose its name again."""
    body = (
        f"Your team {team.name} in {competition.title} can choose its name again.\n"
        f"{_page(competition, 'team')}"
    )
    _moderated(session, competition, team, "allowed to choose its name", body, now)


def how_to_appeal(competition: Competition) -> str:
    """Return the sentence that says how a team objects to what the organizers decided."""
    contact = f", or write to the organizers: {competition.contact}" if competition.contact else ""
    return f"To appeal, ask a question on the page of one of your submissions{contact}."


def _moderated(
    session: Session, competition: Competition, team: Team, what: str, body: str, now: datetime
) -> None:
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

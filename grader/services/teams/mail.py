"""E-mails about teams: entry, mergers, moderation."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from grader.models import Competition, MergeRequest, Participation, Team, User
from grader.services.competitions import organizers, team_names
from grader.services.site import letters
from grader.services.site.outbox import Notice
from grader.services.teams import rosters


def asked_to_join(
    session: Session, *, competition: Competition, participation: Participation, user: User, now: datetime
) -> None:
    """E-mail the organizers about a request to join the competition."""
    letters.send(
        session,
        "asked-to-join",
        organizers.to_notify(session, competition=competition),
        kind=Notice.ORGANIZER,
        key=f"asked-to-join:{participation.id}",
        competition=competition,
        user=user,
        now=now,
    )


def decided(session: Session, *, competition: Competition, user: User, admits: bool, now: datetime) -> None:
    """E-mail a person about the organizers' decision on a request to join."""
    key = f"entry:{competition.id}:{now:%Y%m%dT%H%M%S}"
    _send(session, "admitted" if admits else "not-admitted", [user], competition, key, now)


def about_merger(
    session: Session, letter: str, *, competition: Competition, request: MergeRequest, now: datetime
) -> None:
    """E-mail the leader who decides or who asked about a merge request, or the members of the merged team."""
    other = {"merge-asked": request.from_team, "merge-refused": request.to_team}.get(letter)
    asking, asked = (
        team_names.shown(team, competition) if team is other else team.name
        for team in (request.from_team, request.to_team)
    )
    users = {"merge-asked": [request.to_team.leader], "merge-refused": [request.from_team.leader]}.get(letter)
    to = users or _people(session, request.from_team)
    _send(session, letter, to, competition, f"{letter}:{request.id}", now, asking=asking, asked=asked)


def moderated(
    session: Session, letter: str, *, competition: Competition, team: Team, now: datetime, **values: Any
) -> None:
    """E-mail a team about a decision of the organizers, the reason and how to appeal."""
    key = f"team-{letter}:{team.id}:{now:%Y%m%dT%H%M%S}"
    values |= {"team": team, "appeal": how_to_appeal(competition.contact)}
    _send(session, letter, _people(session, team), competition, key, now, **values)


def how_to_appeal(contact: str) -> str:
    """Return the sentence that explains how a team can appeal against a decision."""
    return f"To appeal, write to the organizers: {contact}"


def _people(session: Session, team: Team) -> list[User]:
    return [member.user for member in rosters.members(session, team=team)]


def _send(
    session: Session,
    letter: str,
    users: Iterable[User | None],
    competition: Competition,
    key: str,
    now: datetime,
    **values: Any,
) -> None:
    present = [user for user in users if user is not None]
    values["competition"] = competition
    letters.send(session, letter, present, kind=Notice.TEAM, key=key, now=now, **values)

"""What waits for a person's answer: invitations, merge requests, people who ask to join, questions."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, literal, or_, select, true, union_all
from sqlalchemy.orm import Session, aliased

from grader.models import (
    Competition,
    CompetitionState,
    Dispute,
    MergeRequest,
    Organizer,
    Participation,
    RequestState,
    Role,
    Team,
    TeamInvite,
    TeamMember,
    User,
)

_IS_OPEN = Participation.state == RequestState.OPEN


class WaitingKind(enum.StrEnum):
    """What somebody waits for."""

    INVITATION = "invitation"
    MERGER = "merger"
    ENTRY = "entry"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits in a competition for one answer, or of people who join and of questions for `count` answers.

    `team` is the one that invites, or that asks to merge, and `person` who did it for the team. Of the others
    both are empty. `since` is when the first of them came.
    """

    kind: WaitingKind
    slug: str
    title: str
    count: int
    team: str
    person: str
    since: datetime


def for_person(session: Session, *, user: User, now: datetime) -> tuple[Waiting, ...]:
    """Return what waits for a person in all competitions, the longest wait first, with one statement.

    An invitation or a merge request that nobody can accept any more waits no longer.
    """
    parts = union_all(_invitations(user, now), _mergers(user, now), *_of_organizers(user)).subquery()
    rows = session.execute(select(parts).order_by(parts.c.since, parts.c.kind, parts.c.slug, parts.c.team))
    return tuple(Waiting(WaitingKind(kind), *rest) for kind, *rest in rows)


def count(items: Iterable[Waiting]) -> int:
    """Return how many answers somebody waits for."""
    return sum(item.count for item in items)


def _invitations(user: User, now: datetime) -> Select[Any]:
    by = aliased(User)
    return (
        select(*_columns(WaitingKind.INVITATION, literal(1), Team.name, by.name, TeamInvite.created_at))
        .join(Team, Team.id == TeamInvite.team_id)
        .join(Competition, Competition.id == Team.competition_id)
        .join(by, by.id == TeamInvite.created_by_id)
        .where(TeamInvite.user_id == user.id, TeamInvite.ended_at.is_(None), _teams_change(now))
    )


def _mergers(user: User, now: datetime) -> Select[Any]:
    """Return the requests to the teams that the person leads, found by their membership."""
    own, asking, by = aliased(Team), aliased(Team), aliased(User)
    return (
        select(*_columns(WaitingKind.MERGER, literal(1), asking.name, by.name, MergeRequest.created_at))
        .select_from(TeamMember)
        .join(own, and_(own.id == TeamMember.team_id, own.leader_id == user.id))
        .join(MergeRequest, MergeRequest.to_team_id == own.id)
        .join(asking, asking.id == MergeRequest.from_team_id)
        .join(by, by.id == asking.leader_id)
        .join(Competition, Competition.id == own.competition_id)
        .where(TeamMember.user_id == user.id, MergeRequest.state == RequestState.OPEN, _teams_change(now))
    )


def _of_organizers(user: User) -> tuple[Select[Any], Select[Any]]:
    """Return what waits for whom the organizers' mails go to: owners, editors and administrators."""
    organized = select(Organizer.competition_id).where(
        Organizer.user_id == user.id, Organizer.role != Role.VIEWER
    )
    is_theirs = true() if user.is_admin else Competition.id.in_(organized)
    is_there = and_(Competition.state == CompetitionState.PUBLISHED, is_theirs)
    nobody = literal("")
    entries = (
        select(
            *_columns(WaitingKind.ENTRY, func.count(), nobody, nobody, func.min(Participation.requested_at))
        )
        .join(Participation, and_(Participation.competition_id == Competition.id, _IS_OPEN))
        .where(is_there)
        .group_by(Competition.id, Competition.slug, Competition.title)
    )
    questions = (
        select(*_columns(WaitingKind.QUESTION, func.count(), nobody, nobody, func.min(Dispute.asked_at)))
        .join(Dispute, and_(Dispute.competition_id == Competition.id, Dispute.answered_at.is_(None)))
        .where(is_there)
        .group_by(Competition.id, Competition.slug, Competition.title)
    )
    return entries, questions


def _columns(kind: WaitingKind, count: Any, team: Any, person: Any, since: Any) -> tuple[Any, ...]:
    return (
        literal(kind.value).label("kind"),
        Competition.slug.label("slug"),
        Competition.title.label("title"),
        count.label("count"),
        team.label("team"),
        person.label("person"),
        since.label("since"),
    )


def _teams_change(now: datetime) -> ColumnElement[bool]:
    """Return the condition that `rosters.require_changeable` asks for."""
    return and_(
        Competition.state == CompetitionState.PUBLISHED,
        Competition.revealed_at.is_(None),
        *(or_(end.is_(None), end > now) for end in (Competition.closes_at, Competition.merger_deadline)),
    )

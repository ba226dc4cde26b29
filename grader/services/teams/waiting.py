"""Open requests awaiting a user's decision, and the user's disqualified teams."""

import enum
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, literal, or_, select, true, union_all
from sqlalchemy.orm import Session, aliased

from grader.models import (
    Competition,
    CompetitionState,
    MergeRequest,
    Organizer,
    Participation,
    RequestState,
    Role,
    Team,
    TeamMember,
    User,
)
from grader.services.competitions import team_names

_DISQUALIFIED = "disqualified"
_PERSON = bindparam("person", type_=User.id.type)
_NOW = bindparam("now", type_=Competition.created_at.type)


class WaitingKind(enum.StrEnum):
    """The kinds of requests: to merge with a team, and to join a competition."""

    MERGER = "merger"
    ENTRY = "entry"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A merge request, or all `count` requests to join a competition.

    `team` is the team that sent the merge request, and `person` is its leader. Both are empty for requests to
    join. `since` is the time of the earliest request.
    """

    kind: WaitingKind
    slug: str
    count: int
    team: str
    person: str
    since: datetime


@dataclass(frozen=True, slots=True)
class ForPerson:
    """A person's open requests, and the reasons why teams are disqualified, by competition slug."""

    requests: tuple[Waiting, ...] = ()
    disqualifications: Mapping[str, str] = field(default_factory=dict)


def for_person(session: Session, *, user: User, now: datetime) -> ForPerson:
    """Return a person's open requests in all competitions, oldest first, in one query.

    Merge requests that can no longer be accepted are omitted.
    """
    rows = session.execute(_statement(is_admin=user.is_admin), {"person": user.id, "now": now}).all()
    return ForPerson(
        tuple(Waiting(WaitingKind(kind), *rest) for kind, *rest in rows if kind != _DISQUALIFIED),
        {row.slug: row.person for row in rows if row.kind == _DISQUALIFIED},
    )


@functools.cache
def _statement(*, is_admin: bool) -> Select[Any]:
    """Return the query; it is cached because building it takes longer than running it."""
    entries = _entries(is_admin=is_admin)
    parts = union_all(_mergers(), entries, _disqualified_teams()).subquery()
    return select(parts).order_by(parts.c.since, parts.c.kind, parts.c.slug, parts.c.team)


def _mergers() -> Select[Any]:
    """Return the requests to teams that the person leads, found through memberships."""
    own, asking, by = aliased(Team), aliased(Team), aliased(User)
    team = team_names.unless_anonymous(asking.name, asking.alias)
    person = team_names.unless_anonymous(by.name, "")
    return (
        select(*_columns(WaitingKind.MERGER, literal(1), team, person, MergeRequest.created_at))
        .select_from(TeamMember)
        .join(own, and_(own.id == TeamMember.team_id, own.leader_id == _PERSON))
        .join(MergeRequest, MergeRequest.to_team_id == own.id)
        .join(asking, asking.id == MergeRequest.from_team_id)
        .join(by, by.id == asking.leader_id)
        .join(Competition, Competition.id == own.competition_id)
        .where(TeamMember.user_id == _PERSON, MergeRequest.state == RequestState.OPEN, _teams_change())
    )


def _entries(*, is_admin: bool) -> Select[Any]:
    """Return the requests to join competitions on which owners, editors and administrators decide."""
    organized = select(Organizer.competition_id).where(
        Organizer.user_id == _PERSON, Organizer.role != Role.VIEWER
    )
    is_theirs = true() if is_admin else Competition.id.in_(organized)
    columns = _columns(
        WaitingKind.ENTRY, func.count(), literal(""), literal(""), func.min(Participation.requested_at)
    )
    return (
        select(*columns)
        .join(Participation, Participation.competition_id == Competition.id)
        .where(
            Competition.state == CompetitionState.PUBLISHED,
            is_theirs,
            Participation.state == RequestState.OPEN,
        )
        .group_by(Competition.slug)
    )


def _disqualified_teams() -> Select[Any]:
    """Return the person's disqualified teams with the reasons in the `person` column."""
    reason = Team.disqualification_reason
    columns = _columns(_DISQUALIFIED, literal(1), Team.name, reason, Team.disqualified_at)
    return (
        select(*columns)
        .select_from(TeamMember)
        .join(Team, Team.id == TeamMember.team_id)
        .join(Competition, Competition.id == Team.competition_id)
        .where(TeamMember.user_id == _PERSON, Team.disqualified_at.is_not(None))
    )


def _columns(kind: str, count: Any, team: Any, person: Any, since: Any) -> tuple[Any, ...]:
    return (
        literal(str(kind)).label("kind"),
        Competition.slug.label("slug"),
        count.label("count"),
        team.label("team"),
        person.label("person"),
        since.label("since"),
    )


def _teams_change() -> ColumnElement[bool]:
    """Return the SQL condition that corresponds to `rosters.require_changeable`."""
    return and_(
        Competition.state == CompetitionState.PUBLISHED,
        Competition.revealed_at.is_(None),
        *(or_(end.is_(None), end > _NOW) for end in (Competition.closes_at, Competition.merger_deadline)),
    )

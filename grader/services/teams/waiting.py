"""Requests awaiting a user's decision: invitations, mergers, join requests, open tasks."""

import enum
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, literal, or_, select, true, union_all
from sqlalchemy.orm import Session, aliased

from grader.models import (
    Competition,
    CompetitionState,
    DataCheckState,
    DataFile,
    Dispute,
    MergeRequest,
    Organizer,
    Participation,
    RequestState,
    Role,
    Submission,
    SubmissionStatus,
    Team,
    TeamInvite,
    TeamMember,
    User,
)
from grader.services import notifications
from grader.services.competitions import team_names

_DISQUALIFIED, _UNREAD = "disqualified", "unread"
_PERSON = bindparam("person", type_=User.id.type)
_NOW = bindparam("now", type_=Competition.created_at.type)
_IS_OPEN = Participation.state == RequestState.OPEN


class WaitingKind(enum.StrEnum):
    """The kinds of requests; APPEAL is a disqualified team's question, and DATA is a held-back file."""

    INVITATION = "invitation"
    MERGER = "merger"
    ENTRY = "entry"
    APPEAL = "appeal"
    QUESTION = "question"
    DATA = "data"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pending request in a competition, or `count` pending requests of one kind.

    For a single request, `team` is the team that sent the invitation or merge request, and `person` is the
    user who sent it. Both are empty for grouped requests, such as requests to join. `since` is the time of
    the earliest request.
    """

    kind: WaitingKind
    slug: str
    title: str
    count: int
    team: str
    person: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Inbox:
    """A person's pending requests, number of unread notifications, and disqualifications.

    `disqualifications` maps competition slugs to the reasons why the person's teams are disqualified.
    """

    waiting: tuple[Waiting, ...] = ()
    unread_count: int = 0
    disqualifications: Mapping[str, str] = field(default_factory=dict)


def for_person(session: Session, *, user: User, now: datetime) -> Inbox:
    """Return a person's pending requests in all competitions, oldest first, in one query.

    Invitations and merge requests that can no longer be accepted are omitted.
    """
    rows = session.execute(_statement(is_admin=user.is_admin), {"person": user.id, "now": now})
    waiting: list[Waiting] = []
    reasons: dict[str, str] = {}
    unread = 0
    for kind, slug, title, number, team, person, since in rows:
        if kind == _UNREAD:
            unread = number
        elif kind == _DISQUALIFIED:
            reasons[slug] = person
        else:
            waiting.append(Waiting(WaitingKind(kind), slug, title, number, team, person, since))
    return Inbox(tuple(waiting), unread, reasons)


def count(items: Iterable[Waiting]) -> int:
    """Return the number of pending requests."""
    return sum(item.count for item in items)


def is_appeal() -> ColumnElement[bool]:
    """Return the condition that a question is from a disqualified team.

    The correlated subquery makes the database find the open questions first.
    """
    return (
        select(Team.id)
        .join(Submission, Submission.team_id == Team.id)
        .where(Submission.id == Dispute.submission_id, Team.disqualified_at.is_not(None))
        .correlate(Dispute)
        .exists()
    )


@functools.cache
def _statement(*, is_admin: bool) -> Select[Any]:
    """Return the inbox query; it is cached because building it takes longer than running it."""
    parts = union_all(
        _invitations(), _mergers(), *_of_organizers(is_admin=is_admin), _disqualified_teams(), _unread()
    ).subquery()
    return select(parts).order_by(parts.c.since, parts.c.kind, parts.c.slug, parts.c.team)


def _invitations() -> Select[Any]:
    by = aliased(User)
    return (
        select(*_columns(WaitingKind.INVITATION, literal(1), Team.name, by.name, TeamInvite.created_at))
        .join(Team, Team.id == TeamInvite.team_id)
        .join(Competition, Competition.id == Team.competition_id)
        .join(by, by.id == TeamInvite.created_by_id)
        .where(TeamInvite.user_id == _PERSON, TeamInvite.ended_at.is_(None), _teams_change())
    )


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


def _unread() -> Select[Any]:
    nothing = literal("")
    count = select(func.count()).select_from(notifications.unread(_PERSON).subquery()).scalar_subquery()
    return select(literal(_UNREAD), nothing, nothing, count, nothing, nothing, _NOW)


def _of_organizers(*, is_admin: bool) -> Iterator[Select[Any]]:
    """Yield the tasks of the organizers who receive e-mail: owners, editors and administrators."""
    organized = select(Organizer.competition_id).where(
        Organizer.user_id == _PERSON, Organizer.role != Role.VIEWER
    )
    is_theirs = true() if is_admin else Competition.id.in_(organized)

    def grouped(
        kind: WaitingKind, table: Any, since: Any, is_waiting: ColumnElement[bool], *states: CompetitionState
    ) -> Select[Any]:
        # The index on the competition column keeps this fast even if many rows are not pending.
        theirs = select(Competition.id).where(Competition.state.in_(states), is_theirs)
        requests = (
            select(table.competition_id, func.count().label("count"), func.min(since).label("since"))
            .where(table.competition_id.in_(theirs), is_waiting)
            .group_by(table.competition_id)
            .subquery()
        )
        columns = _columns(kind, requests.c.count, literal(""), literal(""), requests.c.since)
        return select(*columns).join(requests, requests.c.competition_id == Competition.id)

    yield grouped(
        WaitingKind.ENTRY, Participation, Participation.requested_at, _IS_OPEN, CompetitionState.PUBLISHED
    )
    is_open = Dispute.answered_at.is_(None)
    for kind, table, since, is_waiting in (
        (WaitingKind.APPEAL, Dispute, Dispute.asked_at, and_(is_open, is_appeal())),
        (WaitingKind.QUESTION, Dispute, Dispute.asked_at, and_(is_open, ~is_appeal())),
        (WaitingKind.DATA, DataFile, DataFile.uploaded_at, DataFile.check_state == DataCheckState.HELD),
        (
            WaitingKind.FAILED,
            Submission,
            Submission.submitted_at,
            Submission.status == SubmissionStatus.FAILED,
        ),
    ):
        yield grouped(kind, table, since, is_waiting, CompetitionState.PUBLISHED, CompetitionState.REVEALED)


def _columns(kind: str, count: Any, team: Any, person: Any, since: Any) -> tuple[Any, ...]:
    return (
        literal(str(kind)).label("kind"),
        Competition.slug.label("slug"),
        Competition.title.label("title"),
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

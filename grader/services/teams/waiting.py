"""Open requests awaiting a user's decision."""

import enum
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

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
from grader.services.teams import rosters


class WaitingKind(enum.StrEnum):
    """The kinds of requests: to merge with a team, and to join a competition."""

    MERGER = "merger"
    ENTRY = "entry"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A merge request, or all `count` requests to join a competition.

    `team` is the team that sent the merge request, and `person` is its leader. Both are None for requests to
    join. `since` is the time of the earliest request.
    """

    kind: WaitingKind
    competition: str
    count: int
    team: str | None
    person: str | None
    since: datetime


def requests(
    session: Session, *, user: User, now: datetime, with_entries: bool = True
) -> tuple[Waiting, ...]:
    """Return a person's open requests in all competitions, oldest first.

    Merge requests that can no longer be accepted are omitted, and requests to join without `with_entries`.
    """
    pending = [*_mergers(session, user, now), *(_entries(session, user) if with_entries else ())]
    return tuple(sorted(pending, key=lambda each: (each.since, each.kind, each.competition, each.team or "")))


def _mergers(session: Session, user: User, now: datetime) -> list[Waiting]:
    """Return the requests to teams that the person leads, found through memberships."""
    leads = TeamMember.user_id == user.id, Team.leader_id == user.id
    query = (
        select(MergeRequest, Competition)
        .join(MergeRequest.to_team)
        .join(Competition, Competition.id == Team.competition_id)
        .join(Team.members)
        .where(*leads, MergeRequest.state == RequestState.OPEN)
        .options(joinedload(MergeRequest.from_team).joinedload(Team.leader))
    )
    return [
        Waiting(
            kind=WaitingKind.MERGER,
            competition=competition.slug,
            count=1,
            team=team_names.shown(team, competition),
            person=team.leader.name if team.leader and not competition.is_anonymous else None,
            since=request.created_at,
        )
        for request, competition in session.execute(query)
        if (team := request.from_team) and rosters.can_change(competition, now)
    ]


def _entries(session: Session, user: User) -> list[Waiting]:
    """Return the requests to join competitions on which owners, editors and administrators decide."""
    query = (
        select(Competition.slug, func.count(), func.min(Participation.requested_at))
        .join(Participation, Participation.competition_id == Competition.id)
        .where(Competition.state == CompetitionState.PUBLISHED, Participation.state == RequestState.OPEN)
        .group_by(Competition.slug)
    )
    if not user.is_admin:
        own = Organizer.user_id == user.id, Organizer.role != Role.VIEWER
        query = query.where(Competition.id.in_(select(Organizer.competition_id).where(*own)))
    return [
        Waiting(WaitingKind.ENTRY, slug, count, None, None, since)
        for slug, count, since in session.execute(query)
    ]

"""Membership: a user's entry and team in a competition, with its link and mergers."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from grader.models import Competition, MergeRequest, Participation, Team, TeamInvite, TeamMember, User
from grader.services.competitions import phases, team_names
from grader.services.competitions.settings_model import division_names
from grader.services.teams import invitations, limits, mergers, participations, rosters
from grader.services.teams.mergers import Sum
from grader.services.teams.participations import EntryState


@dataclass(frozen=True, slots=True)
class OpenMerger:
    """An open merge request as one of its teams sees it; `obstacle` is why it cannot be accepted now."""

    request: MergeRequest
    is_ours: bool
    other: str
    together: Sum
    obstacle: str | None


@dataclass(frozen=True, slots=True)
class OwnTeam:
    """A person's team, with its link and open merge requests, and the divisions to choose from."""

    team: Team
    members: tuple[TeamMember, ...]
    is_leader: bool
    can_leave: bool
    link: TeamInvite | None
    proposals: tuple[OpenMerger, ...]
    used_total: int
    divisions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OwnMembership:
    """A person's entry and team in a competition, with open merge requests.

    `max_used` is the number of submissions that one team could have used so far, or None if there is no
    limit.
    """

    entry: EntryState
    participation: Participation | None
    is_entry_open: bool
    is_expected: bool
    can_grow: bool
    is_running: bool
    max_used: int | None
    own: OwnTeam | None


def of_person(session: Session, *, competition: Competition, user: User, now: datetime) -> OwnMembership:
    """Return a person's entry and team in a competition."""
    participation = participations.known(session, competition=competition, user=user)
    team = rosters.find_team(session, competition=competition, user=user)
    return OwnMembership(
        entry=participations.state(competition, participation),
        participation=participation,
        is_expected=participations.is_expected(session, competition=competition, user=user),
        is_entry_open=participations.is_entry_open(competition, now),
        can_grow=rosters.can_change(competition, now),
        is_running=rosters.is_running(competition, now),
        max_used=mergers.max_used_by_now(competition, now),
        own=None if team is None else _own(session, competition, team, user, now),
    )


def _own(session: Session, competition: Competition, team: Team, user: User, now: datetime) -> OwnTeam:
    proposals = mergers.of_team(session, team=team)
    chooses = team.leader_id == user.id and phases.takes_divisions(competition, now)
    return OwnTeam(
        team=team,
        members=tuple(rosters.members(session, team=team)),
        is_leader=team.leader_id == user.id,
        can_leave=not rosters.has_counting_file(session, team=team),
        link=invitations.link_of(session, team=team),
        proposals=tuple(_proposal(session, competition, team, each, now) for each in proposals),
        used_total=limits.allowance(session, competition=competition, team=team, now=now).used_total,
        divisions=division_names(competition.divisions) if chooses else (),
    )


def _proposal(
    session: Session, competition: Competition, team: Team, request: MergeRequest, now: datetime
) -> OpenMerger:
    is_ours = request.from_team_id == team.id
    other = request.to_team if is_ours else request.from_team
    return OpenMerger(
        request=request,
        is_ours=is_ours,
        other=team_names.shown(other, competition),
        together=mergers.together(session, competition=competition, teams=(team, other), now=now),
        obstacle=mergers.obstacle(session, competition=competition, teams=(team, other), now=now),
    )

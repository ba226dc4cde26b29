"""Carry-over of teams and members from the previous stage of a competition."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, case, literal, select

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import (
    MAIN_BOARD,
    Competition,
    CompetitionState,
    Participation,
    RequestState,
    Split,
    Team,
    TeamMember,
    User,
)
from grader.services.competitions import boards, lookup
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import division_names
from grader.services.identity import kept_identities
from grader.services.leaderboards.ranks import Standings
from grader.services.teams import rosters
from grader.text import counted
from grader.visibility import Anonymity


@dataclass(frozen=True, slots=True)
class Skipped:
    """A team, or one of its members, that was not carried over, and the reason."""

    team: str
    member: str | None
    reason: str


class CarriedOver(NamedTuple):
    """The names of the teams that were carried over, and the skipped teams and members."""

    teams: list[str]
    skipped: list[Skipped]


class _Member(NamedTuple):
    """A member, the accepted version of this stage's rules, and why the member cannot enter this stage."""

    user: User
    rules_version: int
    obstacle: str


def carry_over(act: Act, *, top: int | None = None, board: str = MAIN_BOARD) -> CarriedOver:
    """Carry over all teams of the previous stage, or the first `top` of a private leaderboard.

    Disqualified teams are left out. Teams and members that are already in this stage are skipped. Members
    must accept the rules again unless the text is the same. Lock the previous stage before this one. Raise
    Refusal.
    """
    session, stage, previous = act.session, act.competition, _previous(act, top)
    query = select(Team).where(
        Team.competition_id == previous.id,
        Team.merged_into_id.is_(None),
        Team.disqualified_at.is_(None),
        ~Team.is_organizers,
    )
    if top is not None:
        version = lookup.live(previous)
        boards.find(boards.of(previous, version), board)
        ranked = Standings(session, version.id, Split.PRIVATE, board=board).ranked_teams().subquery()
        query = query.join(ranked, ranked.c.team_id == Team.id).where(ranked.c.rank <= top)
    carried_ids = set(session.scalars(select(Team.carried_from_id).where(Team.competition_id == stage.id)))
    entered = session.scalars(select(Participation).where(Participation.competition_id == stage.id))
    known = {each.user_id: each for each in entered}
    members = _members(act, previous)
    made, skipped = list[str](), list[Skipped]()
    teams = list(session.scalars(query.order_by(Team.id)))
    if previous.anonymity is not Anonymity.NONE:
        # In the same order, the ids in both stages would tell which name belongs to which alias.
        random.SystemRandom().shuffle(teams)
    for team in teams:
        if team.id in carried_ids:
            skipped.append(Skipped(team.name, None, "already in this stage"))
            continue
        joining = [each for each in members[team.id] if not each.obstacle]
        obstacles = [each for each in members[team.id] if each.obstacle]
        skipped += [Skipped(team.name, each.user.name, each.obstacle) for each in obstacles]
        if not joining:
            skipped.append(Skipped(team.name, None, "no member can enter this stage"))
        elif len(joining) > stage.max_team_size:
            limit = counted(stage.max_team_size, "member")
            skipped.append(Skipped(team.name, None, f"larger than {limit}"))
        else:
            made.append(_copy(act, team, [each.user.id for each in joining]))
            session.add_all(_admitted(act, each, known.get(each.user.id)) for each in joining)
    if made:
        act.record(
            "team.carry_over",
            f"competition {stage.slug}",
            after={"from": previous.slug, "teams": len(made), "top": top, "board": board},
            public_text=f"The organizers carried {counted(len(made), 'team')} over from the previous stage.",
        )
    return CarriedOver(made, skipped)


def _not_carried(message: str) -> OrganizerRefusal:
    return OrganizerRefusal("not_carried", ErrorKind.CONFLICT, message)


def _previous(act: Act, top: int | None) -> Competition:
    stage = act.competition
    if stage.previous_stage_id is None:
        raise _not_carried("This competition has no previous stage.")
    if stage.state is CompetitionState.DRAFT:
        raise _not_carried("Publish this stage first. You can carry teams over before it opens.")
    rosters.require_running(stage, act.now)
    previous = act.session.get_one(Competition, stage.previous_stage_id, populate_existing=True)
    if top is not None and previous.revealed_at is None:
        raise _not_carried(
            "The private leaderboard of the previous stage is not revealed. Reveal it first, or carry over "
            "all teams."
        )
    return previous


def _members(act: Act, previous: Competition) -> Mapping[int, list[_Member]]:
    """Return the members of the previous stage by team, first the oldest."""
    session, stage = act.session, act.competition
    accepted: ColumnElement[int] = literal(0)
    if stage.rules == previous.rules:
        accepted = case((Participation.rules_version == previous.rules_version, stage.rules_version), else_=0)
    entered = (Participation.competition_id == previous.id) & (Participation.user_id == User.id)
    query = (
        select(TeamMember.team_id, User, accepted)
        .join(User, User.id == TeamMember.user_id)
        .outerjoin(Participation, entered)
        .where(TeamMember.competition_id == previous.id, User.deleted_at.is_(None))
    )
    here = select(TeamMember.user_id).where(TeamMember.competition_id == stage.id)
    is_refused = Participation.competition_id == stage.id, Participation.state == RequestState.REFUSED
    refused = select(Participation.user_id).where(*is_refused)
    obstacles: dict[int, str] = {}
    for users, obstacle in (
        (here, "already in a team of this stage"),
        (refused, "not admitted to this stage"),
    ):
        same_people = (*session.scalars(kept_identities.others(users)), *session.scalars(users))
        obstacles |= dict.fromkeys(same_people, obstacle)
    members = defaultdict(list)
    for team_id, user, rules_version in session.execute(query.order_by(TeamMember.joined_at, TeamMember.id)):
        obstacle = obstacles.get(user.id, "suspended on this site" if user.suspended_at else "")
        members[team_id].append(_Member(user, rules_version, obstacle))
    return members


def _copy(act: Act, team: Team, member_ids: Sequence[int]) -> str:
    """Add a copy of a team to this stage, and return its name, which has a number if it was taken."""
    here = {"competition_id": act.competition.id}
    made = Team(carried_from_id=team.id, created_at=act.now, **here)
    made.division = team.division if team.division in division_names(act.competition.divisions) else None
    rosters.set_name(made, rosters.free_name(act.session, competition=act.competition, name=team.name))
    made.is_name_fixed = team.is_name_fixed
    made.leader_id = team.leader_id if team.leader_id in member_ids else member_ids[0]
    made.members = [TeamMember(user_id=each, joined_at=act.now, **here) for each in member_ids]
    act.session.add(made)
    act.session.flush()
    return made.name


def _admitted(act: Act, member: _Member, known: Participation | None) -> Participation:
    """Return the accepted participation of a carried member."""
    entered = known or Participation(
        competition_id=act.competition.id,
        user_id=member.user.id,
        rules_version=member.rules_version,
        requested_at=act.now,
    )
    if entered.state is not RequestState.ACCEPTED:
        entered.state, entered.joined_at = RequestState.ACCEPTED, act.now
    return entered

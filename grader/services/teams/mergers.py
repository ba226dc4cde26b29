"""Team mergers: request, accept, decline; limits on team size and submissions.

As on Kaggle, two teams can merge if together they have used no more submissions than one team could have used
so far. The merged team may have no submissions left. The absorbed team keeps its row and its name.

In an anonymous competition, a request names the other team by its alias, and the two teams learn each other's
names only from the merger.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session, aliased, joinedload

from grader.errors import ErrorKind, Refusal
from grader.models import (
    Competition,
    MergeRequest,
    RequestState,
    Submission,
    SubmissionGrant,
    Team,
    TeamMember,
)
from grader.services.competitions import team_names
from grader.services.competitions.acting import Act
from grader.services.identity import names
from grader.services.leaderboards import rows
from grader.services.site import mail_limits
from grader.services.teams import invitations, limits, mail, participations, rosters


@dataclass(frozen=True, slots=True)
class Sum:
    """The combined members and submissions of two teams, and their limits; None means no limit."""

    member_count: int
    max_members: int
    used_total: int
    max_used: int | None


def request(act: Act, *, name: str) -> MergeRequest:
    """Ask the leader of the team `name` to merge it into the team that the person leads.

    Raises Refusal or TooMuchMail.
    """
    team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    rosters.require_changeable(act.competition, act.now)
    other = _find(act.session, act.competition, name)
    if other is None or other.id == team.id or other.leader is None or other.leader.deleted_at:
        message = f"There is no other team named {name!r} in this competition."
        raise Refusal("unknown_team", ErrorKind.NOT_FOUND, message)
    between = {team.id, other.id}
    if any({each.from_team_id, each.to_team_id} == between for each in of_team(act.session, team=team)):
        shown = team_names.shown(other, act.competition)
        message = f"A merge request between your team and {shown} is already open."
        raise Refusal("already_asked", ErrorKind.CONFLICT, message)
    _require_mergeable(act.session, act.competition, team, other, act.now)
    mail_limits.count_merge_request(act.session, team=team, by=act.user, to=other.leader, now=act.now)
    made = MergeRequest(from_team=team, to_team=other, state=RequestState.OPEN, created_at=act.now)
    act.session.add(made)
    act.session.flush()
    mail.about_merger(act.session, "merge-asked", competition=act.competition, request=made, now=act.now)
    return made


def acceptable(act: Act, *, request_id: int) -> tuple[MergeRequest, Sum]:
    """Return a request that the person can accept, and the combined figures of the teams; raise Refusal."""
    own_team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    merge_request = _open(act.session, request_id, MergeRequest.to_team_id == own_team.id)
    rosters.require_changeable(act.competition, act.now)
    teams = merge_request.from_team, own_team
    return merge_request, _require_mergeable(act.session, act.competition, *teams, act.now)


def accept(act: Act, *, request_id: int) -> Team:
    """Merge the person's team into the requesting team, and return the merged team; raise Refusal."""
    merge_request, _ = acceptable(act, request_id=request_id)
    merge_request.state = RequestState.ACCEPTED
    into = merge_request.from_team
    _merge(act.session, act.competition, taken=merge_request.to_team, into=into, now=act.now)
    mail.about_merger(act.session, "merged", competition=act.competition, request=merge_request, now=act.now)
    return into


def refuse(act: Act, *, request_id: int) -> MergeRequest:
    """Reject a request to the team that the person leads; raise Refusal."""
    own_team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    merge_request = _open(act.session, request_id, MergeRequest.to_team_id == own_team.id)
    mail.about_merger(
        act.session, "merge-refused", competition=act.competition, request=merge_request, now=act.now
    )
    merge_request.state = RequestState.REFUSED
    return merge_request


def withdraw(act: Act, *, request_id: int) -> MergeRequest:
    """Withdraw a request of the person's team; raise Refusal."""
    asking = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    merge_request = _open(act.session, request_id, MergeRequest.from_team_id == asking.id)
    merge_request.state = RequestState.WITHDRAWN
    return merge_request


def of_team(session: Session, *, team: Team) -> list[MergeRequest]:
    """Return the open requests from and to a team, oldest first."""
    query = select(MergeRequest).where(
        MergeRequest.state == RequestState.OPEN,
        or_(MergeRequest.from_team_id == team.id, MergeRequest.to_team_id == team.id),
    )
    loaded = query.options(joinedload(MergeRequest.from_team), joinedload(MergeRequest.to_team))
    return list(session.scalars(loaded.order_by(MergeRequest.id)))


def together(session: Session, *, competition: Competition, teams: tuple[Team, Team], now: datetime) -> Sum:
    """Return the combined figures of two teams, and the limits of one team."""
    used = sum(
        limits.allowance(session, competition=competition, team=team, now=now).used_total for team in teams
    )
    granted = limits.granted_by_now(session, competition=competition, teams=teams, now=now)
    max_used = max_used_by_now(competition, now)
    return Sum(
        member_count=sum(rosters.count_members(session, team=team) for team in teams),
        max_members=competition.max_team_size,
        used_total=used,
        max_used=None if max_used is None else max_used + granted,
    )


def obstacle(
    session: Session, *, competition: Competition, teams: tuple[Team, Team], now: datetime
) -> str | None:
    """Return a sentence on why two teams cannot merge now, or None if they can."""
    try:
        rosters.require_changeable(competition, now)
        _require_mergeable(session, competition, *teams, now)
    except Refusal as refusal:
        return refusal.message
    return None


def max_used_by_now(competition: Competition, now: datetime) -> int | None:
    """Return the number of submissions that one team could have used so far, or None if there is no limit.

    It is the number of UTC days times the daily limit, but at most the total limit. Extra submissions are not
    included.
    """
    daily, total = competition.max_daily_submissions, competition.max_total_submissions
    if daily is None:
        return total
    opened = (competition.opens_at or competition.created_at).astimezone(UTC).date()
    by_now = daily * max(0, (now.astimezone(UTC).date() - opened).days + 1)
    return by_now if total is None else min(by_now, total)


def _find(session: Session, competition: Competition, name: str) -> Team | None:
    try:
        shown = names.clean_name(name)
    except names.InvalidName:
        return None
    if competition.is_anonymous:
        own = Team.competition_id == competition.id, func.lower(Team.alias) == shown.lower()
        team = session.scalar(select(Team).where(*own).options(joinedload(Team.leader)))
    else:
        team = rosters.find_by_name(session, competition=competition, name=shown)
    return team if team and rosters.count_members(session, team=team) else None


def _require_mergeable(
    session: Session, competition: Competition, team: Team, other: Team, now: datetime
) -> Sum:
    """Return the combined figures of two teams; raise Refusal if they exceed a limit of one team."""
    for each in (team, other):
        rosters.require_not_disqualified(each, team_names.shown(each, competition))
    members = select(TeamMember.user_id).where(TeamMember.team_id.in_([team.id, other.id]))
    participations.require_one_team(session, competition=competition, users=members, teams=(team, other))
    both = together(session, competition=competition, teams=(team, other), now=now)
    if both.member_count > both.max_members:
        sum_ = f"Together, the teams have {both.member_count} members."
        message = f"{sum_} A team in this competition can have at most {both.max_members}."
        raise Refusal("too_many_members", ErrorKind.CONFLICT, message)
    if both.max_used is not None and both.used_total > both.max_used:
        sum_ = f"Together, the teams have used {both.used_total:,} submissions."
        message = f"{sum_} One team could have used at most {both.max_used:,} so far."
        raise Refusal("too_many_submissions", ErrorKind.CONFLICT, message)
    return both


def _merge(session: Session, competition: Competition, *, taken: Team, into: Team, now: datetime) -> None:
    session.flush()
    _free_used_keys(session, taken, into)
    for model in (Submission, SubmissionGrant, TeamMember):
        session.execute(update(model).where(model.team_id == taken.id).values(team_id=into.id))
    invitations.end(session, team=taken, now=now)
    for each in of_team(session, team=taken):
        each.state = RequestState.WITHDRAWN if each.from_team_id == taken.id else RequestState.REFUSED
    into.division, taken.division = into.division or taken.division, None
    extensions = [each.extended_until for each in (taken, into) if each.extended_until is not None]
    into.extended_until = max(extensions, default=None)
    taken.leader_id = None
    taken.merged_into_id = into.id
    session.flush()
    rows.rebuild(session, competition=competition, team_ids=[taken.id, into.id])


def _free_used_keys(session: Session, taken: Team, into: Team) -> None:
    """Clear the absorbed team's idempotency keys that the other team has also used."""
    kept = aliased(Submission)
    used = select(kept.idempotency_key).where(kept.team_id == into.id, kept.idempotency_key.is_not(None))
    session.execute(
        update(Submission)
        .where(Submission.team_id == taken.id, Submission.idempotency_key.in_(used))
        .values(idempotency_key=None)
        .execution_options(synchronize_session=False)
    )


def _open(session: Session, request_id: int, whose: ColumnElement[bool]) -> MergeRequest:
    merge_request = session.scalar(
        select(MergeRequest)
        .where(MergeRequest.id == request_id, MergeRequest.state == RequestState.OPEN, whose)
        .options(joinedload(MergeRequest.from_team), joinedload(MergeRequest.to_team))
        .execution_options(populate_existing=True)
    )
    if merge_request is None:
        message = "This merge request is no longer open. It has already been answered or withdrawn."
        raise Refusal("unknown_merge_request", ErrorKind.NOT_FOUND, message)
    return merge_request

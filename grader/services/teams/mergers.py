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

from grader.errors import ErrorKind
from grader.models import (
    Competition,
    MergeRequest,
    Participation,
    RequestState,
    Submission,
    SubmissionGrant,
    Team,
    TeamMember,
)
from grader.services.competitions import team_names
from grader.services.competitions.acting import Act
from grader.services.identity import names
from grader.services.leaderboards import rows, shown_scores
from grader.services.site import mail_limits
from grader.services.teams import invitations, limits, mail, participations, rosters
from grader.services.teams.participations import LeftTeam
from grader.services.teams.rosters import Disqualified, TeamRefusal
from grader.visibility import Viewer


class NoTeamToMerge(TeamRefusal):
    """The competition has no other team of this name that can merge."""

    public_name = "unknown_team"
    kind = ErrorKind.NOT_FOUND
    message = "There is no other team named {name!r} in this competition."


class UnknownMergeRequest(TeamRefusal):
    """The merge request does not exist or has been decided."""

    public_name = "unknown_merge_request"
    kind = ErrorKind.NOT_FOUND
    message = "This merge request is no longer open. It has already been answered or withdrawn."


class MergerPending(TeamRefusal):
    """The two teams already have an open request."""

    public_name = "already_asked"
    message = "A merge request between your team and {name} is already open."


class TooManyMembers(TeamRefusal):
    """Together, the teams have more members than a team may have."""

    public_name = "too_many_members"
    message = "Together, the teams have {count} members. A team in this competition can have at most {limit}."


class TooManySubmissions(TeamRefusal):
    """Together, the teams have used more submissions than one team could have used."""

    public_name = "too_many_submissions"
    message = (
        "Together, the teams have used {count:,} submissions. One team could have used at most {limit:,} so "
        "far."
    )


@dataclass(frozen=True, slots=True)
class Sum:
    """The combined members and submissions of two teams, and the limits; None means no limit."""

    member_count: int
    max_members: int
    used_total: int
    max_used: int | None


@dataclass(frozen=True, slots=True)
class MergingTeam:
    """One team's side of a merger: members, submissions, used and selected submissions.

    `leader` and `members` are empty if they are hidden.
    """

    name: str
    division: str | None
    leader: str
    members: tuple[str, ...]
    submission_count: int
    used_total: int
    used_today: int
    picked_count: int


@dataclass(frozen=True, slots=True)
class Outlook:
    """The effect of accepting a merge request: the absorbed and the remaining team, and combined figures."""

    taken: MergingTeam
    into: MergingTeam
    sum: Sum
    max_daily: int | None
    selection_count: int


def request(act: Act, *, name: str) -> MergeRequest:
    """Ask the leader of the team `name` to merge it into the team that the person leads.

    Raises NotInTeam, NotLeader, TeamsFrozen, NoTeamToMerge, MergerPending, Disqualified, LeftTeam,
    TooManyMembers, TooManySubmissions or TooMuchMail.
    """
    team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    rosters.require_changeable(act.competition, act.now)
    other = _find(act.session, act.competition, name)
    if other is None or other.id == team.id or other.leader is None or other.leader.deleted_at:
        raise NoTeamToMerge(name=name)
    between = {team.id, other.id}
    if any({each.from_team_id, each.to_team_id} == between for each in of_team(act.session, team=team)):
        raise MergerPending(name=team_names.shown(other, act.competition))
    _require_mergeable(act.session, act.competition, team, other, act.now)
    mail_limits.count_merge_request(act.session, team=team, by=act.user, to=other.leader, now=act.now)
    made = MergeRequest(from_team=team, to_team=other, state=RequestState.OPEN, created_at=act.now)
    act.session.add(made)
    act.session.flush()
    mail.merge_asked(act.session, competition=act.competition, request=made, now=act.now)
    return made


def outlook(act: Act, *, request_id: int) -> Outlook:
    """Return the effect of accepting a request to the person's team; raise the errors of `accept`."""
    own_team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    into = _open(act.session, request_id, MergeRequest.to_team_id == own_team.id).from_team
    rosters.require_changeable(act.competition, act.now)
    _require_mergeable(act.session, act.competition, into, own_team, act.now)
    return Outlook(
        taken=_side(act.session, act.competition, own_team, act.now, Viewer.TEAM),
        into=_side(act.session, act.competition, into, act.now, Viewer.PARTICIPANT),
        sum=together(act.session, competition=act.competition, teams=(into, own_team), now=act.now),
        max_daily=act.competition.max_daily_submissions,
        selection_count=act.competition.selection_count,
    )


def accept(act: Act, *, request_id: int) -> Team:
    """Merge the person's team into the requesting team, and return the merged team.

    Raises NotInTeam, NotLeader, UnknownMergeRequest, TeamsFrozen, Disqualified, LeftTeam, TooManyMembers or
    TooManySubmissions.
    """
    own_team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    merge_request = _open(act.session, request_id, MergeRequest.to_team_id == own_team.id)
    rosters.require_changeable(act.competition, act.now)
    _require_mergeable(act.session, act.competition, merge_request.from_team, own_team, act.now)
    merge_request.state = RequestState.ACCEPTED
    _merge(act.session, act.competition, taken=own_team, into=merge_request.from_team, now=act.now)
    mail.merged(act.session, competition=act.competition, request=merge_request, now=act.now)
    return merge_request.from_team


def refuse(act: Act, *, request_id: int) -> MergeRequest:
    """Reject a request to the team that the person leads; raise NotLeader or UnknownMergeRequest."""
    own_team = rosters.require_led_team(act.session, competition=act.competition, user=act.user)
    merge_request = _open(act.session, request_id, MergeRequest.to_team_id == own_team.id)
    mail.merge_refused(act.session, competition=act.competition, request=merge_request, now=act.now)
    merge_request.state = RequestState.REFUSED
    return merge_request


def withdraw(act: Act, *, request_id: int) -> MergeRequest:
    """Withdraw a request of the person's team; raise NotLeader or UnknownMergeRequest."""
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
    except (TeamRefusal, LeftTeam) as refusal:
        return refusal.message
    return None


def max_used_by_now(competition: Competition, now: datetime) -> int | None:
    """Return the number of submissions that one team could have used so far, or None if there is no limit.

    It is the number of UTC days times the daily limit, but at most the total limit. Extra submissions are not
    included.
    """
    possible = []
    if competition.max_daily_submissions is not None:
        opened = (competition.opens_at or competition.created_at).astimezone(UTC).date()
        day_count = max(0, (now.astimezone(UTC).date() - opened).days + 1)
        possible.append(day_count * competition.max_daily_submissions)
    if competition.max_total_submissions is not None:
        possible.append(competition.max_total_submissions)
    return min(possible, default=None)


def _side(
    session: Session, competition: Competition, team: Team, now: datetime, viewer: Viewer
) -> MergingTeam:
    members = () if team_names.are_hidden(competition, viewer) else rosters.members(session, team=team)
    allowance = limits.allowance(session, competition=competition, team=team, now=now)
    count = select(func.count()).select_from(Submission).where(Submission.team_id == team.id)
    return MergingTeam(
        name=team_names.shown(team, competition, viewer),
        division=team.division,
        leader=team.leader.name if team.leader and members else "",
        members=tuple(each.user.name for each in members),
        submission_count=session.scalar(count) or 0,
        used_total=allowance.used_total,
        used_today=allowance.used_today,
        picked_count=len(shown_scores.selected(session, team=team)),
    )


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
) -> None:
    for each in (team, other):
        if each.disqualified_at is not None:
            raise Disqualified(name=team_names.shown(each, competition))
    if bound := participations.bound_by_members(session, competition=competition, teams=(team, other)):
        raise LeftTeam(name=team_names.shown(bound, competition))
    both = together(session, competition=competition, teams=(team, other), now=now)
    if both.member_count > both.max_members:
        raise TooManyMembers(count=both.member_count, limit=both.max_members)
    if both.max_used is not None and both.used_total > both.max_used:
        raise TooManySubmissions(count=both.used_total, limit=both.max_used)


def _merge(session: Session, competition: Competition, *, taken: Team, into: Team, now: datetime) -> None:
    session.flush()
    _free_used_keys(session, taken, into)
    for model in (Submission, SubmissionGrant, TeamMember):
        session.execute(update(model).where(model.team_id == taken.id).values(team_id=into.id))
    session.execute(
        update(Participation).where(Participation.bound_team_id == taken.id).values(bound_team_id=into.id)
    )
    if rosters.binds(session, team=into):
        rosters.bind(session, team=into)
    invitations.end_all(session, team=taken, now=now)
    invitations.end_of_members(session, team=into, now=now)
    _close_requests(session, taken)
    into.division, taken.division = into.division or taken.division, None
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


def _close_requests(session: Session, taken: Team) -> None:
    for each in of_team(session, team=taken):
        asked_for_it = each.from_team_id == taken.id
        each.state = RequestState.WITHDRAWN if asked_for_it else RequestState.REFUSED


def _open(session: Session, request_id: int, whose: ColumnElement[bool]) -> MergeRequest:
    merge_request = session.scalar(
        select(MergeRequest)
        .where(MergeRequest.id == request_id, MergeRequest.state == RequestState.OPEN, whose)
        .options(joinedload(MergeRequest.from_team), joinedload(MergeRequest.to_team))
        .execution_options(populate_existing=True)
    )
    if merge_request is None:
        raise UnknownMergeRequest
    return merge_request

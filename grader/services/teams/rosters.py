"""Members of a team: find, add, remove, next leader, team size."""

from datetime import datetime

from sqlalchemy import delete, exists, func, or_, select, update
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, ParticipantError
from grader.models import (
    Competition,
    MergeRequest,
    Notification,
    Participation,
    Submission,
    Team,
    TeamInvite,
    TeamMember,
    User,
    Webhook,
)
from grader.services import webhook_outbox as webhooks
from grader.services.competitions import phases
from grader.services.people import names
from grader.visibility import Phase


class TeamRefusal(ParticipantError):
    """A wish about teams that cannot be met."""

    public_name = "team_refusal"
    kind = ErrorKind.CONFLICT


class AlreadyInTeam(TeamRefusal):
    """The person has a team in this competition."""

    public_name = "already_in_team"
    message = "You are in the team {team.name}. You can be in only one team per competition."


class NotInTeam(TeamRefusal):
    """The person has no team in this competition."""

    public_name = "not_in_team"
    message = "You have no team in this competition yet."


class NotLeader(TeamRefusal):
    """Only the leader of a team does this."""

    public_name = "not_leader"
    kind = ErrorKind.FORBIDDEN

    def __init__(self, team: Team) -> None:
        leader = f", {team.leader.name}," if team.leader else ""
        super().__init__(f"Only the leader of {team.name}{leader} can do this.")


class TeamsFrozen(TeamRefusal):
    """The time in which teams could change is over."""

    public_name = "teams_frozen"
    kind = ErrorKind.FORBIDDEN

    def __init__(self, deadline: datetime | None) -> None:
        when = f" ended at {deadline:%Y-%m-%d %H:%M:%S} UTC" if deadline else " is over"
        super().__init__(f"The time in which teams can change{when}.")
        self.deadline = deadline


class TeamFull(TeamRefusal):
    """A team has no place left."""

    public_name = "team_full"

    def __init__(self, name: str, limit: int) -> None:
        people = "1 member" if limit == 1 else f"{limit} members"
        super().__init__(f"The team {name} is full: a team has at most {people} here.")
        self.limit = limit


def find_team(session: Session, *, competition: Competition, user: User) -> Team | None:
    """Return the person's team in a competition, None if they have none."""
    return session.scalar(
        select(Team)
        .join(TeamMember, TeamMember.team_id == Team.id)
        .where(TeamMember.competition_id == competition.id, TeamMember.user_id == user.id)
        .options(joinedload(Team.leader))
        .execution_options(populate_existing=True)
    )


def team_ids(session: Session, *, user: User) -> dict[int, int]:
    """Return the ids of the person's teams by their competitions."""
    query = select(TeamMember.competition_id, TeamMember.team_id).where(TeamMember.user_id == user.id)
    return dict(session.execute(query).all())


def require_team(session: Session, *, competition: Competition, user: User) -> Team:
    """Return the person's team; raise NotInTeam."""
    team = find_team(session, competition=competition, user=user)
    if team is None:
        raise NotInTeam
    return team


def require_led_team(session: Session, *, competition: Competition, user: User) -> Team:
    """Return the team that the person leads; raise NotInTeam, NotLeader."""
    team = require_team(session, competition=competition, user=user)
    if team.leader_id != user.id:
        raise NotLeader(team)
    return team


def members(session: Session, *, team: Team) -> list[TeamMember]:
    """Return the members of a team with their accounts, the longest member first."""
    query = select(TeamMember).where(TeamMember.team_id == team.id).options(joinedload(TeamMember.user))
    return list(session.scalars(query.order_by(TeamMember.joined_at, TeamMember.id)))


def present(session: Session, *, team: Team) -> list[TeamMember]:
    """Return the members whose accounts were not deleted, the longest member first."""
    return [member for member in members(session, team=team) if member.user.deleted_at is None]


def count_members(session: Session, *, team: Team) -> int:
    """Return how many people are in a team."""
    return session.scalar(select(func.count()).where(TeamMember.team_id == team.id)) or 0


def has_submissions(session: Session, *, team: Team) -> bool:
    """Return whether a team has ever sent a file."""
    return bool(session.scalar(select(exists().where(Submission.team_id == team.id))))


def find_by_name(session: Session, *, competition: Competition, name: str) -> Team | None:
    """Return the team that is meant by this name, in any case; a team that was merged keeps its name."""
    key = names.name_key(name)
    query = select(Team).where(Team.competition_id == competition.id, Team.name_key == key)
    return session.scalar(query.options(joinedload(Team.leader)))


def free_name(session: Session, *, competition: Competition, name: str) -> str:
    """Return a name for a new team: this one, or with a number while it is taken."""
    candidate, number = name, 1
    while names.is_taken_by_team(session, competition=competition, name=candidate):
        number += 1
        candidate = names.numbered(name, number)
    return candidate


def set_name(team: Team, name: str) -> None:
    """Give a team a free name, and the forms by which it is found and kept apart."""
    team.name, team.name_key, team.name_shape = name, names.name_key(name), names.name_shape(name)
    team.name_given_at, team.name_given_because = None, ""


def make_team(session: Session, *, competition: Competition, user: User, name: str, now: datetime) -> Team:
    """Make a team with a free name, led by the person, who has none."""
    team = Team(competition_id=competition.id, leader_id=user.id, created_at=now)
    set_name(team, name)
    session.add(team)
    session.flush()
    _enter(session, team, user, now)
    return team


def add_member(session: Session, *, team: Team, user: User, now: datetime) -> None:
    """Put a person who has no team into one; a team that has submitted is theirs for good."""
    _enter(session, team, user, now)
    if has_submissions(session, team=team):
        bind(session, team=team)


def bind(session: Session, *, team: Team) -> None:
    """Bind the members of a team that submits: nobody of it enters the competition through another."""
    session.execute(
        update(Participation)
        .where(
            Participation.competition_id == team.competition_id,
            Participation.bound_team_id.is_(None),
            Participation.user_id.in_(select(TeamMember.user_id).where(TeamMember.team_id == team.id)),
        )
        .values(bound_team_id=team.id)
    )


def remove_member(session: Session, *, team: Team, user: User) -> None:
    """Take a person out of a team: the longest member leads on; a team that nobody is left in ends."""
    session.execute(delete(TeamMember).where(TeamMember.team_id == team.id, TeamMember.user_id == user.id))
    left = present(session, team=team)
    if not left:
        _end(session, team)
    elif team.leader_id == user.id:
        team.leader_id = left[0].user_id
    session.flush()


def require_changeable(competition: Competition, now: datetime) -> None:
    """Raise TeamsFrozen after the merger deadline and after the close."""
    require_running(competition, now)
    deadline = competition.merger_deadline
    if deadline is not None and now >= deadline:
        raise TeamsFrozen(deadline)


def require_running(competition: Competition, now: datetime) -> None:
    """Raise TeamsFrozen after the close."""
    if phases.phase(competition, now) in (Phase.CLOSED, Phase.REVEALED):
        raise TeamsFrozen(competition.closes_at)


def _enter(session: Session, team: Team, user: User, now: datetime) -> None:
    session.add(
        TeamMember(competition_id=team.competition_id, team_id=team.id, user_id=user.id, joined_at=now)
    )
    session.flush()


def _end(session: Session, team: Team) -> None:
    """Delete a team without people and submissions; its name is free again."""
    session.execute(delete(TeamMember).where(TeamMember.team_id == team.id))
    session.execute(delete(TeamInvite).where(TeamInvite.team_id == team.id))
    of_team = Notification.competition_id == team.competition_id, Notification.team_id == team.id
    session.execute(delete(Notification).where(*of_team))
    webhooks.remove(session, Webhook.team_id == team.id)
    asked = or_(MergeRequest.from_team_id == team.id, MergeRequest.to_team_id == team.id)
    session.execute(delete(MergeRequest).where(asked))
    session.delete(team)

"""Team members: find, add, remove, count, and the next leader."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import ColumnElement, delete, exists, func, or_, select
from sqlalchemy.orm import Session, joinedload, selectinload

from grader.errors import ErrorKind, Refusal
from grader.models import (
    Competition,
    MergeRequest,
    Participation,
    RequestState,
    RosterEntry,
    SectionUse,
    Submission,
    SubmissionGrant,
    SubmissionStatus,
    Team,
    TeamInvite,
    TeamMember,
    User,
)
from grader.services.competitions import phases
from grader.services.competitions.settings_model import division_names
from grader.services.identity import names
from grader.services.site import mail_addresses as addresses
from grader.visibility import Phase


def already_in_team(team: Team) -> Refusal:
    """Return the refusal for people who already have a team."""
    message = f"You are already in the team {team.name}. You can be in only one team per competition."
    return Refusal("already_in_team", ErrorKind.CONFLICT, message)


def require_not_disqualified(team: Team, name: str | None = None) -> None:
    """Raise Refusal for a disqualified team, which cannot merge, and which no one can join or leave."""
    if team.is_disqualified:
        named = name or team.name
        message = f"The team {named} is disqualified, so it cannot merge, and no one can join or leave it."
        raise Refusal("disqualified", ErrorKind.CONFLICT, message)


def require_leavable(session: Session, *, team: Team) -> None:
    """Raise Refusal for a team that can only be merged, because it is disqualified or has a counting file."""
    require_not_disqualified(team)
    if has_counting_file(session, team=team):
        message = (
            f"The team {team.name} has submitted files, so its members cannot leave it. It can only merge."
        )
        raise Refusal("team_has_submitted", ErrorKind.CONFLICT, message)


def find_team(session: Session, *, competition: Competition, user: User) -> Team | None:
    """Return the person's team in a competition, or None."""
    return session.scalar(
        select(Team)
        .join(TeamMember, TeamMember.team_id == Team.id)
        .where(TeamMember.competition_id == competition.id, TeamMember.user_id == user.id)
        .options(joinedload(Team.leader))
        .execution_options(populate_existing=True)
    )


def teams_of(session: Session, *, user: User) -> dict[int, Team]:
    """Return the person's teams by competition id."""
    query = select(Team).join(TeamMember, TeamMember.team_id == Team.id).where(TeamMember.user_id == user.id)
    return {each.competition_id: each for each in session.scalars(query)}


def require_team(session: Session, *, competition: Competition, user: User) -> Team:
    """Return the person's team; raise Refusal."""
    team = find_team(session, competition=competition, user=user)
    if team is None:
        raise Refusal("not_in_team", ErrorKind.CONFLICT, "You have no team in this competition yet.")
    return team


def require_led_team(session: Session, *, competition: Competition, user: User) -> Team:
    """Return the team that the person leads; raise Refusal."""
    team = require_team(session, competition=competition, user=user)
    if team.leader_id != user.id:
        leader = f", {team.leader.name}," if team.leader else ""
        message = f"Only the leader of {team.name}{leader} can do this."
        raise Refusal("not_leader", ErrorKind.FORBIDDEN, message)
    return team


def members(session: Session, *, team: Team) -> list[TeamMember]:
    """Return the members of a team with their accounts, in the order in which they joined."""
    query = select(TeamMember).where(TeamMember.team_id == team.id).options(joinedload(TeamMember.user))
    return list(session.scalars(query.order_by(TeamMember.joined_at, TeamMember.id)))


def present(session: Session, *, team: Team) -> list[TeamMember]:
    """Return the members whose accounts are not deleted, in the order in which they joined."""
    return [member for member in members(session, team=team) if member.user.deleted_at is None]


def count_members(session: Session, *, team: Team) -> int:
    """Return the number of members of a team."""
    return session.scalar(select(func.count()).where(TeamMember.team_id == team.id)) or 0


def has_counting_file(session: Session, *, team: Team) -> bool:
    """Return whether a team can only be merged, but not left."""
    return bool(session.scalar(select(Team.id).where(Team.id == team.id, counts())))


def counts() -> ColumnElement[bool]:
    """Return the SQL condition for teams that are disqualified or have a file that was not rejected."""
    kept = exists().where(Submission.team_id == Team.id, Submission.status != SubmissionStatus.REJECTED)
    return or_(Team.disqualified_at.is_not(None), kept)


def find_by_name(session: Session, *, competition: Competition, name: str) -> Team | None:
    """Return the team with this name, ignoring case; merged teams keep their names."""
    key = names.name_key(name)
    query = select(Team).where(Team.competition_id == competition.id, Team.name_key == key)
    return session.scalar(query.options(joinedload(Team.leader)))


def new_name(session: Session, *, competition: Competition, name: str, of: Team | None = None) -> str:
    """Return the display form of a new name for a team; raise Refusal if it is invalid, reserved or taken."""
    shown = names.clean_name(name)
    names.require_unreserved(shown)
    if names.is_taken_by_team(session, competition=competition, name=shown, but_for=of):
        message = (
            f"The name {shown!r} is taken or looks too similar to another team's name. Choose another name."
        )
        raise Refusal("team_name_taken", ErrorKind.CONFLICT, message)
    return shown


def free_name(session: Session, *, competition: Competition, name: str) -> str:
    """Return a free name for a new team: the given name, with a number if it is taken."""
    candidate, number = name, 1
    while names.is_taken_by_team(session, competition=competition, name=candidate):
        number += 1
        candidate = names.numbered(name, number)
    return candidate


def set_name(team: Team, name: str) -> None:
    """Set a team's name and the key for lookup and for the detection of similar names."""
    team.name, team.name_key = name, names.name_key(name)
    team.is_name_fixed = False


def _confirmed(session: Session, user: User) -> list[str]:
    """Return a user's verified addresses."""
    options = [selectinload(User.identities)]
    person = session.get_one(User, user.id, options=options, populate_existing=True)
    confirmed = [each.email for each in person.identities if each.email]
    return [*confirmed, person.email] if person.email and person.email_verified_at else confirmed


def linked_student(session: Session, *, competition: Competition, user: User) -> RosterEntry | None:
    """Return the entry on the roster that is linked to a user, or None."""
    here = RosterEntry.competition_id == competition.id, RosterEntry.user_id == user.id
    return session.scalar(select(RosterEntry).where(*here))


def student(session: Session, *, competition: Competition, user: User) -> RosterEntry | None:
    """Return the user's entry on the roster or, if none is linked, one with a verified address."""
    if competition.section_use is None:  # without a roster, no statement is sent
        return None
    linked = linked_student(session, competition=competition, user=user)
    keys = [addresses.key(each) for each in _confirmed(session, user)]
    here = RosterEntry.competition_id == competition.id, RosterEntry.user_id.is_(None)
    theirs = select(RosterEntry).where(*here, func.lower(RosterEntry.email).in_(keys))
    return linked or session.scalar(theirs.order_by(RosterEntry.id).limit(1))


def _section(session: Session, *, competition: Competition, user: User) -> str | None:
    """Return the division of a student's section, or None if sections are not divisions."""
    if competition.section_use is not SectionUse.DIVISIONS:
        return None
    entry = student(session, competition=competition, user=user)
    known = division_names(competition.divisions)
    return entry.section if entry is not None and entry.section in known else None


def make_team(session: Session, *, competition: Competition, user: User, name: str, now: datetime) -> Team:
    """Create a team with a free name, led by a person who has no team, in this person's division.

    If the person's former team was kept without members, it continues under the new name, with its limits.
    """
    is_own = Team.competition_id == competition.id, Team.leader_id == user.id
    team = session.scalar(select(Team).where(*is_own, ~Team.members.any()).order_by(Team.id))
    team = team or Team(competition_id=competition.id, leader_id=user.id, created_at=now)
    set_name(team, name)
    team.division = _section(session, competition=competition, user=user) or team.division
    session.add(team)
    session.flush()
    add_member(session, team=team, user=user, now=now)
    return team


def add_member(session: Session, *, team: Team, user: User, now: datetime) -> None:
    """Add a person who has no team to a team."""
    session.add(
        TeamMember(competition_id=team.competition_id, team_id=team.id, user_id=user.id, joined_at=now)
    )
    session.flush()


def remove_member(session: Session, *, team: Team, user: User) -> None:
    """Remove a person from a team, and delete the team if no member is left.

    If the leader is removed, the member who joined first becomes the leader.
    """
    session.execute(delete(TeamMember).where(TeamMember.team_id == team.id, TeamMember.user_id == user.id))
    left = present(session, team=team)
    if not left:
        team.leader_id = user.id
        _end(session, team)
    elif team.leader_id == user.id:
        team.leader_id = left[0].user_id
    session.flush()


def can_change(competition: Competition, now: datetime) -> bool:
    """Return whether teams can get other members: until the merger deadline or the close."""
    deadline = competition.merger_deadline
    return is_running(competition, now) and (deadline is None or now < deadline)


def is_running(competition: Competition, now: datetime) -> bool:
    """Return whether the competition has not closed."""
    return phases.phase(competition, now) not in (Phase.CLOSED, Phase.REVEALED)


def require_changeable(competition: Competition, now: datetime) -> None:
    """Raise Refusal after the merger deadline or after the close."""
    require_running(competition, now)
    if not can_change(competition, now):
        raise frozen(competition.merger_deadline)


def require_running(competition: Competition, now: datetime) -> None:
    """Raise Refusal after the close."""
    if not is_running(competition, now):
        raise frozen(competition.closes_at)


def frozen(deadline: datetime | None) -> Refusal:
    """Return the refusal after the end of team changes."""
    when = f" ended at {deadline:%-d %b %Y, %H:%M:%S} UTC" if deadline else " is over"
    return Refusal("teams_frozen", ErrorKind.FORBIDDEN, f"The period for team changes{when}.")


def _end(session: Session, team: Team) -> None:
    """Delete a team that has no members; its name becomes free.

    The row is kept if it has rejected files, absorbed another team or was carried over to the next stage. Its
    last member can then continue it.
    """
    session.execute(delete(TeamMember).where(TeamMember.team_id == team.id))
    session.execute(delete(TeamInvite).where(TeamInvite.team_id == team.id))
    with_team = or_(MergeRequest.from_team_id == team.id, MergeRequest.to_team_id == team.id)
    session.execute(delete(MergeRequest).where(with_team))
    has_traces = or_(
        exists().where(Submission.team_id == team.id),
        exists().where(Team.merged_into_id == team.id),
        exists().where(Team.carried_from_id == team.id),
    )
    if session.scalar(select(has_traces)):
        competition = session.get_one(Competition, team.competition_id)
        set_name(team, free_name(session, competition=competition, name=f"Former team {team.id}"))
        team.division = None
        return
    session.execute(delete(SubmissionGrant).where(SubmissionGrant.team_id == team.id))
    session.delete(team)


ORGANIZERS = "Organizers"


def organizers_team_of(session: Session, *, competition: Competition) -> Team | None:
    """Return the organizers' team of a competition, or None before its first file."""
    return session.scalar(select(Team).where(Team.competition_id == competition.id, Team.is_organizers))


def require_organizers_team(session: Session, *, competition: Competition, now: datetime) -> Team:
    """Return the organizers' team of a locked competition; create it on first use."""
    team = organizers_team_of(session, competition=competition)
    if team is not None:
        return team
    made = Team(competition_id=competition.id, created_at=now, is_organizers=True)
    set_name(made, free_name(session, competition=competition, name=ORGANIZERS))
    session.add(made)
    session.flush()
    return made


def enter_student(session: Session, *, competition: Competition, user: User, now: datetime) -> None:
    """Link a user who joins to the roster, and add them to their section's team."""
    entry = student(session, competition=competition, user=user)
    if entry is not None:
        entry.user_id = user.id
        session.flush()
        if competition.section_use is SectionUse.TEAMS:
            place_students(session, competition=competition, entries=[entry], now=now)


def place_students(
    session: Session, *, competition: Competition, entries: Iterable[RosterEntry], now: datetime
) -> None:
    """Add students who have joined to the team of their section, which the first student leads.

    Students for whom the team has no room stay without a team.
    """
    joined = Participation.competition_id == competition.id, Participation.state == RequestState.ACCEPTED
    in_teams = select(TeamMember.user_id).where(TeamMember.competition_id == competition.id)
    without_team = select(Participation.user_id).where(*joined, Participation.user_id.not_in(in_teams))
    present = set(session.scalars(without_team))
    here = Team.competition_id == competition.id, RosterEntry.competition_id == competition.id
    of_students = select(Team).join(TeamMember).join(RosterEntry, RosterEntry.user_id == TeamMember.user_id)
    waiting: dict[str, list[User]] = {}
    for entry in entries:
        if entry.section and entry.user is not None and entry.user_id in present:
            waiting.setdefault(entry.section, []).append(entry.user)
    for section, users in waiting.items():
        most_first = func.count().desc(), Team.id  # students may have moved to another section
        of_section = of_students.where(*here, RosterEntry.section == section).group_by(Team.id)
        team = session.scalar(of_section.order_by(*most_first).limit(1))
        if team is None:
            name = free_name(session, competition=competition, name=section)
            leader = users.pop(0)
            team = make_team(session, competition=competition, user=leader, name=name, now=now)
        room = competition.max_team_size - count_members(session, team=team)
        for user in users[: max(0, room)]:
            add_member(session, team=team, user=user, now=now)

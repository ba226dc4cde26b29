"""Organizers, their roles, and the permissions of each role."""

from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, bindparam, case, func, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, OrganizerError, OrganizerRefusal, Refusal
from grader.models import Competition, Organizer, Participation, Role, Team, TeamMember, User
from grader.services.competitions import acting, lookup
from grader.services.competitions.acting import Act
from grader.services.site import log
from grader.services.site.log import Actor

RANKS = {Role.VIEWER: 1, Role.EDITOR: 2, Role.OWNER: 3}


class Membership(NamedTuple):
    """A user's role and team in a competition; `disqualification` is the reason for that of the team."""

    role: Role | None = None
    team_id: int | None = None
    disqualification: str | None = None


def not_organizer(needed: Role, role: Role | None) -> Refusal:
    """Return the refusal for a user whose role is not sufficient."""
    needs = "organizers" if needed is Role.VIEWER else f"organizers with the role {needed}"
    has = f"Your role is {role}" if role else "You have no role"
    message = f"Only {needs} can do this. {has} in this competition."
    return Refusal("not_organizer", ErrorKind.FORBIDDEN, message)


class LastOwner(OrganizerError):
    """A competition must always have an owner."""

    public_name = "last_owner"
    message = "{user.name} is the only owner. Make someone else an owner first."


def role_of(session: Session, *, competition: Competition, user: User | None) -> Role | None:
    """Return a user's role; site administrators are owners of every competition."""
    if user is None or user.deleted_at is not None or user.is_admin:
        return role_with(user, stored=None)
    return session.scalar(
        select(Organizer.role).where(Organizer.competition_id == competition.id, Organizer.user_id == user.id)
    )


def competition_and_membership(
    session: Session, *, slug: str, user: User | None
) -> tuple[Competition, Membership]:
    """Return a competition, and a user's role and team in it, in one query; raise UnknownCompetition."""
    if user is None:
        return lookup.get(session, slug=slug), Membership()
    row = lookup.row_of(session, _with_membership(), slug=slug, user_id=user.id)
    competition, role, team_id, disqualification = row
    return competition, Membership(role_with(user, stored=role), team_id, disqualification)


@cache  # Every page uses it.
def _with_membership() -> Select[Any]:
    # Single columns, because an act must read the team after it has locked the competition.
    reason = case((Team.disqualified_at.is_not(None), Team.disqualification_reason))
    return (
        lookup.with_slug()
        .add_columns(Organizer.role, Team.id, reason)
        .outerjoin(Organizer, is_of_user(Organizer))
        .outerjoin(TeamMember, is_of_user(TeamMember))
        .outerjoin(Team, Team.id == TeamMember.team_id)
    )


def is_of_user(table: type[Organizer | Participation | TeamMember]) -> ColumnElement[bool]:
    """Return the condition that joins the row of the user with the parameter `user_id` to a competition."""
    return and_(table.competition_id == Competition.id, table.user_id == bindparam("user_id"))


def role_with(user: User | None, *, stored: Role | None) -> Role | None:
    """Return the effective role of a user whose stored role is `stored`."""
    if user is None or user.deleted_at is not None:
        return None
    return Role.OWNER if user.is_admin else stored


def reaches(role: Role | None, needed: Role) -> bool:
    """Return whether a role includes the permissions of `needed`."""
    return role is not None and RANKS[role] >= RANKS[needed]


def list_all(session: Session, *, competition: Competition) -> list[Organizer]:
    """Return the organizers of a competition, oldest first."""
    query = (
        select(Organizer)
        .where(Organizer.competition_id == competition.id)
        .options(joinedload(Organizer.user))
        .order_by(Organizer.id)
    )
    return list(session.scalars(query))


def roles(session: Session, *, user: User | None) -> dict[int, Role]:
    """Return a user's stored roles by competition id."""
    if user is None:
        return {}
    query = select(Organizer.competition_id, Organizer.role).where(Organizer.user_id == user.id)
    return dict(session.execute(query).all())


def to_notify(session: Session, *, competition: Competition) -> list[User]:
    """Return the users to notify when an organizer must act: owners, editors and administrators."""
    organizing = select(Organizer.user_id).where(
        Organizer.competition_id == competition.id, Organizer.role != Role.VIEWER
    )
    query = select(User).where(User.deleted_at.is_(None), User.is_admin | User.id.in_(organizing))
    return list(session.scalars(query.order_by(User.id)))


def add(act: Act, *, user: User, role: Role) -> Organizer:
    """Add a user as an organizer; raise OrganizerRefusal if there is a role."""
    if existing := _find(act, user):
        message = f"{user.name} already has the role {existing.role}. Change the role instead."
        raise OrganizerRefusal("already_organizer", ErrorKind.CONFLICT, message)
    organizer = Organizer(competition_id=act.competition.id, user_id=user.id, role=role, added_at=act.now)
    act.session.add(organizer)
    _record(act, user, "organizer.add", None, role)
    return organizer


def change(act: Act, *, user: User, role: Role) -> Organizer:
    """Change an organizer's role; raise OrganizerRefusal or LastOwner."""
    organizer = _get(act, user)
    before, organizer.role = organizer.role, role
    if before is not role:
        _require_owner(act, user, was=before)
        _record(act, user, "organizer.change", before, role)
    return organizer


def remove(act: Act, *, user: User) -> None:
    """Remove an organizer; raise OrganizerRefusal or LastOwner."""
    organizer = _get(act, user)
    act.session.delete(organizer)
    _require_owner(act, user, was=organizer.role)
    _record(act, user, "organizer.remove", organizer.role, None)


def leave_all(session: Session, *, user: User, actor: Actor, now: datetime) -> None:
    """Remove all roles of a user whose account the actor deletes; raise Refusal if it is an only owner."""
    alone = []
    held = select(Organizer.competition_id).where(Organizer.user_id == user.id)
    query = select(Competition).where(Competition.id.in_(held)).order_by(Competition.id)
    for competition in session.scalars(query).all():
        try:
            remove(acting.begin(session, competition=competition, actor=actor, now=now), user=user)
        except LastOwner:
            alone.append(competition.title)
    if alone:
        message = f"This account is the only owner of {', '.join(alone)}. Make someone else an owner first."
        raise Refusal("only_owner", ErrorKind.CONFLICT, message)


def _find(act: Act, user: User) -> Organizer | None:
    query = select(Organizer).where(
        Organizer.competition_id == act.competition.id, Organizer.user_id == user.id
    )
    return act.session.scalar(query.execution_options(populate_existing=True))


def _get(act: Act, user: User) -> Organizer:
    if organizer := _find(act, user):
        return organizer
    message = f"{user.name} is not an organizer of this competition."
    raise OrganizerRefusal("unknown_organizer", ErrorKind.CONFLICT, message)


def _require_owner(act: Act, user: User, *, was: Role) -> None:
    """Raise LastOwner if the user was the only owner; the act's lock excludes concurrent changes."""
    act.session.flush()
    owners = select(func.count()).where(
        Organizer.competition_id == act.competition.id, Organizer.role == Role.OWNER
    )
    if was is Role.OWNER and not act.session.scalar(owners):
        raise LastOwner(user=user)


def _record(act: Act, user: User, action: str, before: Role | None, after: Role | None) -> None:
    act.record(action, f"organizer {log.mention(user)}", before={"role": before}, after={"role": after})

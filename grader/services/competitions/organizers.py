"""Organizers, their roles, and the permissions of each role."""

from datetime import datetime

from sqlalchemy import and_, func, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, OrganizerError, OrganizerRefusal, ParticipantError, Refusal
from grader.models import Competition, Organizer, Role, User
from grader.services.competitions import lookup
from grader.services.competitions.acting import Act
from grader.services.competitions.lookup import UnknownCompetition
from grader.services.site import log
from grader.services.site.log import Actor

RANKS = {Role.VIEWER: 1, Role.EDITOR: 2, Role.OWNER: 3}


class NotOrganizer(ParticipantError):
    """The user's role is not sufficient."""

    public_name = "not_organizer"
    kind = ErrorKind.FORBIDDEN

    def __init__(self, needed: Role, role: Role | None) -> None:
        needs = "organizers" if needed is Role.VIEWER else f"organizers with the role {needed}"
        has = f"Your role is {role}" if role else "You have no role"
        super().__init__(f"Only {needs} can do this. {has} in this competition.")
        self.needed = needed


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


def competition_and_role(
    session: Session, *, slug: str, user: User | None
) -> tuple[Competition, Role | None]:
    """Return a competition and a user's role in it, in one query; raise UnknownCompetition."""
    if user is None or user.deleted_at is not None or user.is_admin:
        return lookup.get(session, slug=slug), role_with(user, stored=None)
    is_theirs = and_(Organizer.competition_id == Competition.id, Organizer.user_id == user.id)
    query = lookup.with_slug(slug).add_columns(Organizer.role).outerjoin(Organizer, is_theirs)
    row = session.execute(query).one_or_none()
    if row is None:
        raise UnknownCompetition(slug=slug)
    competition, role = row
    return competition, role


def role_with(user: User | None, *, stored: Role | None) -> Role | None:
    """Return the effective role of a user whose stored role is `stored`."""
    if user is None or user.deleted_at is not None:
        return None
    return Role.OWNER if user.is_admin else stored


def reaches(role: Role | None, needed: Role) -> bool:
    """Return whether a role includes the permissions of `needed`."""
    return role is not None and RANKS[role] >= RANKS[needed]


def require(session: Session, *, competition: Competition, user: User | None, role: Role) -> None:
    """Raise NotOrganizer unless the user has this role or a higher one."""
    own_role = role_of(session, competition=competition, user=user)
    if not reaches(own_role, role):
        raise NotOrganizer(role, own_role)


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
    """Return the users who are e-mailed when an organizer must act: owners, editors and administrators."""
    organizing = select(Organizer.user_id).where(
        Organizer.competition_id == competition.id, Organizer.role != Role.VIEWER
    )
    query = select(User).where(User.deleted_at.is_(None), User.is_admin | User.id.in_(organizing))
    return list(session.scalars(query.order_by(User.id)))


def make_owner(session: Session, *, competition: Competition, actor: Actor, now: datetime) -> None:
    """Make the actor the owner of a new competition, unless the actor is the shell."""
    if actor.user is not None:
        session.add(
            Organizer(competition_id=competition.id, user_id=actor.user.id, role=Role.OWNER, added_at=now)
        )
        session.flush()


def add(
    session: Session, *, competition: Competition, user: User, role: Role, actor: Actor, now: datetime
) -> Organizer:
    """Add a user as an organizer; raise OrganizerRefusal if there is a role."""
    _lock(session, competition)
    if existing := _find(session, competition, user):
        message = f"{user.name} already has the role {existing.role}. Change the role instead."
        raise OrganizerRefusal("already_organizer", ErrorKind.CONFLICT, message)
    organizer = Organizer(competition_id=competition.id, user_id=user.id, role=role, added_at=now)
    session.add(organizer)
    _record(Act(session, competition, actor, now), user, "organizer.add", None, role)
    return organizer


def change(
    session: Session, *, competition: Competition, user: User, role: Role, actor: Actor, now: datetime
) -> Organizer:
    """Change an organizer's role; raise OrganizerRefusal or LastOwner."""
    organizer = _found(session, competition, user)
    before, organizer.role = organizer.role, role
    if before is not role:
        _require_owner(session, competition, user, was=before)
        _record(Act(session, competition, actor, now), user, "organizer.change", before, role)
    return organizer


def remove(session: Session, *, competition: Competition, user: User, actor: Actor, now: datetime) -> None:
    """Remove an organizer; raise OrganizerRefusal or LastOwner."""
    organizer = _found(session, competition, user)
    before = organizer.role
    session.delete(organizer)
    _require_owner(session, competition, user, was=before)
    _record(Act(session, competition, actor, now), user, "organizer.remove", before, None)


def leave_all(session: Session, *, user: User, actor: Actor, now: datetime) -> None:
    """Remove all roles of a user whose account the actor deletes; raise Refusal if it is an only owner."""
    alone = []
    held = select(Organizer.competition_id).where(Organizer.user_id == user.id)
    for competition in session.scalars(
        select(Competition).where(Competition.id.in_(held)).order_by(Competition.id)
    ).all():
        try:
            remove(session, competition=competition, user=user, actor=actor, now=now)
        except LastOwner:
            alone.append(competition.title)
    if alone:
        message = f"This account is the only owner of {', '.join(alone)}. Make someone else an owner first."
        raise Refusal("only_owner", ErrorKind.CONFLICT, message)


def _lock(session: Session, competition: Competition) -> None:
    """Lock the competition, so that two owners cannot remove each other at the same time."""
    session.execute(
        select(Competition.id)
        .where(Competition.id == competition.id)
        .with_for_update(of=Competition, key_share=True)
    )


def _find(session: Session, competition: Competition, user: User) -> Organizer | None:
    return session.scalar(
        select(Organizer)
        .where(Organizer.competition_id == competition.id, Organizer.user_id == user.id)
        .options(joinedload(Organizer.user))
        .execution_options(populate_existing=True)
    )


def _found(session: Session, competition: Competition, user: User) -> Organizer:
    _lock(session, competition)
    organizer = _find(session, competition, user)
    if organizer is None:
        message = f"{user.name} is not an organizer of this competition."
        raise OrganizerRefusal("unknown_organizer", ErrorKind.CONFLICT, message)
    return organizer


def _require_owner(session: Session, competition: Competition, user: User, *, was: Role) -> None:
    """Raise LastOwner if the user was the only owner."""
    session.flush()
    owners = session.scalar(
        select(func.count()).where(Organizer.competition_id == competition.id, Organizer.role == Role.OWNER)
    )
    if not owners and was is Role.OWNER:
        raise LastOwner(user=user)


def _record(act: Act, user: User, action: str, before: Role | None, after: Role | None) -> None:
    act.record(action, f"organizer {log.mention(user)}", before={"role": before}, after={"role": after})

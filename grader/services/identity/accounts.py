"""User accounts: creation, search, profiles, e-mail preferences and deletion."""

import secrets
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session, selectinload

from grader.errors import ErrorKind, Refusal
from grader.models import (
    AccountLink,
    AnnouncedUpload,
    Competition,
    FactorStep,
    Identity,
    LinkPurpose,
    Mail,
    Participation,
    RecoveryCode,
    RequestState,
    RosterEntry,
    SecondFactor,
    Team,
    TeamInvite,
    TeamMember,
    User,
)
from grader.services.competitions import lookup, organizers
from grader.services.identity import (
    api_tokens,
    email_addresses,
    kept_identities,
    logins,
    names,
    one_time_links,
)
from grader.services.identity.passwords import MAX_LENGTH, BoundedHasher, password_problem
from grader.services.site import mail_addresses as addresses
from grader.services.site.log import Actor
from grader.services.site.paging import Part, Slice, slice_of_query
from grader.services.teams import rosters
from grader.settings import Settings
from grader.text import folded

_decoys: dict[PasswordHasher, str] = {}
FACTORS: tuple[Any, ...] = (FactorStep, RecoveryCode, SecondFactor)
NO_PASSWORD = "!"  # noqa: S105  (not a valid hash, so no password matches it)
HASH_ROUNDS = 3  # passes of Argon2id


class InvalidAccount(Refusal):
    """The name or the password is invalid; `by_field` maps fields to messages."""

    def __init__(self, by_field: Mapping[str, str], *, name: str = "invalid_account") -> None:
        self.by_field = dict(by_field)
        problems = [{"fields": [field], "message": each} for field, each in by_field.items()]
        super().__init__(name, ErrorKind.MISMATCH, " ".join(by_field.values()))
        self._details["problems"] = problems


def name_taken(name: str) -> InvalidAccount:
    """Return the error for a name that is taken or looks like a taken name."""
    message = f"The name {name!r} is taken or looks too similar to an existing name. Choose another one."
    return InvalidAccount({"name": message}, name="name_taken")


def password_hasher(settings: Settings) -> BoundedHasher:
    """Return this process's Argon2id hasher, which limits the number of concurrent hashes."""
    return BoundedHasher(time_cost=HASH_ROUNDS, memory_cost=settings.password_hash_memory_kib)


def sign_up(
    session: Session,
    *,
    name: str,
    password: str,
    passwords: PasswordHasher,
    now: datetime,
    is_admin: bool = False,
) -> User:
    """Create an account; raise InvalidAccount."""
    # Hashing takes a tenth of a second. It runs before the first statement so that no lock is held meanwhile.
    user = draft(session, name=name, password=password, passwords=passwords, now=now, is_admin=is_admin)
    return add(session, user=user)


def sign_up_by_link(
    session: Session,
    *,
    token: str,
    name: str,
    password: str,
    passwords: PasswordHasher,
    secret: str,
    now: datetime,
) -> User:
    """Create an account with a sign-up link, and verify the address to which the link was sent.

    Raise Refusal or InvalidAccount.
    """
    user = draft(session, name=name, password=password, passwords=passwords, now=now)
    link = one_time_links.require(session, purpose=LinkPurpose.SIGN_UP, token=token, now=now, use=True)
    if link.email is not None:
        email_addresses.require_free(session, address=link.email)
        user.email, user.email_key = link.email, addresses.key(link.email)
        user.email_verified_at = now
    add(session, user=user)
    kept_identities.keep_new(session, user=user, secret=secret)
    return user


def draft(
    session: Session,
    *,
    name: str,
    password: str,
    passwords: PasswordHasher,
    now: datetime,
    is_admin: bool = False,
) -> User:
    """Return a new account for `add`; raise InvalidAccount with all problems."""
    problems: dict[str, str] = {}
    user = None
    try:
        user = named(name, password_hash=NO_PASSWORD, now=now, is_admin=is_admin)
    except InvalidAccount as error:
        problems |= error.by_field
    if fault := password_problem(password, name=user.name if user else ""):
        problems["password"] = fault
        if user is not None and names.is_taken(session, name=user.name):
            problems = name_taken(user.name).by_field | problems
    if user is None or problems:
        raise InvalidAccount(problems)
    user.password_hash = passwords.hash(_normalized(password))
    return user


def named(name: str, *, password_hash: str, now: datetime, is_admin: bool = False) -> User:
    """Return a new account for `add` with a password hash; raise InvalidAccount."""
    try:
        shown = names.clean_name(name)
        names.require_unreserved(shown, is_admin=is_admin)
    except names.InvalidName as error:
        raise InvalidAccount({"name": error.message}) from None
    return User(
        name=shown,
        name_folded=folded(shown),
        name_key=names.name_key(shown),
        password_hash=password_hash,
        is_admin=is_admin,
        created_at=now,
        unwanted_notices=[],
    )


def add(session: Session, *, user: User) -> User:
    """Store a new account; raise InvalidAccount."""
    names.hold_accounts(session)
    if names.is_taken(session, name=user.name):
        raise name_taken(user.name)
    session.add(user)
    session.flush()
    return user


def new_password() -> str:
    """Return a random password with 120 bits."""
    return secrets.token_urlsafe(15)


def find(session: Session, *, user_id: int) -> User | None:
    """Return an account, or None if it does not exist or was deleted."""
    user = session.get(User, user_id)
    return None if user is None or user.deleted_at is not None else user


def list_after(session: Session, *, search: str = "", part: Part) -> Slice[User]:
    """Return a slice of the accounts that match `search`, newest first."""
    shown = selectinload(User.identities), selectinload(User.second_factors)
    query = select(User).where(User.deleted_at.is_(None)).options(*shown)
    if search:
        text = folded(search.strip())
        query = query.where(
            User.name_folded.contains(text, autoescape=True)
            | func.lower(User.email).contains(text, autoescape=True)
        )
    return slice_of_query(session, query, key=User.__table__.c.id, part=part)


def has_password(user: User | None, password: str, *, passwords: PasswordHasher) -> bool:
    """Return whether a password is correct.

    The response time does not reveal whether the account exists and has a password.
    """
    decoy, stored = _decoy(passwords), NO_PASSWORD
    if user is not None and user.deleted_at is None:
        stored = user.password_hash
    try:
        passwords.verify(decoy if stored == NO_PASSWORD else stored, _normalized(password[:MAX_LENGTH]))
    except (VerificationError, InvalidHashError):
        return False
    return stored != NO_PASSWORD


def hashed(password: str, *, name: str, passwords: PasswordHasher) -> str:
    """Return the hash of a new password; raise InvalidAccount.

    Hashing is slow, so call this before a transaction.
    """
    if problem := password_problem(password, name=name):
        raise InvalidAccount({"password": problem})
    return passwords.hash(_normalized(password))


def _normalized(password: str) -> str:
    return unicodedata.normalize("NFC", password)


def _decoy(passwords: PasswordHasher) -> str:
    if passwords not in _decoys:
        _decoys[passwords] = passwords.hash(new_password())
    return _decoys[passwords]


def delete_account(
    session: Session, *, user: User, secret: str, actor: Actor | None = None, now: datetime
) -> None:
    """Delete an account by anonymizing it; raise Refusal or OnlyOwner.

    The actor is by default the user. Teams, submissions and standings are kept. Teams without other members
    and teams named after the user get a neutral name. The hashes of identities and of the address are kept
    while a competition needs them.
    """
    # All administrators are locked so that the last two cannot delete their accounts concurrently.
    admins = select(User.id).where(User.is_admin).with_for_update(key_share=True)
    if session.scalars(admins).all() == [user.id]:
        message = (
            "You are the only administrator. Create another one first (`fairboard user create NAME --admin`)."
        )
        raise Refusal("last_administrator", ErrorKind.INVALID, message)
    organizers.leave_all(session, user=user, actor=actor or Actor.of(user), now=now)
    _leave_teams_nameless(session, user)
    person = session.get_one(User, user.id, populate_existing=True)
    kept_identities.keep(session, user=person, secret=secret)
    _forget_traces(session, person)
    logins.end_all(session, user=person)
    api_tokens.forget_all(session, user=person)
    person.name = names.of_deleted(person.id)
    person.name_folded, person.name_key = folded(person.name), names.name_key(person.name)
    person.password_hash = NO_PASSWORD
    person.is_admin = False
    person.email = person.email_key = person.email_verified_at = None
    person.unwanted_notices = []
    person.deleted_at = now
    session.flush()


def hand_over_teams(session: Session, *, user: User) -> list[tuple[Competition, Team, bool]]:
    """Transfer the leadership of a user's teams; return the teams and whether they have other members."""
    teams = []
    memberships = session.scalars(
        select(TeamMember).where(TeamMember.user_id == user.id).order_by(TeamMember.competition_id)
    )
    for membership in memberships.all():
        competition = lookup.lock(session, competition_id=membership.competition_id)
        team = session.get_one(Team, membership.team_id, populate_existing=True)
        others = [
            member.user
            for member in rosters.members(session, team=team)
            if member.user_id != user.id and member.user.deleted_at is None
        ]
        if team.leader_id == user.id and others:
            # The oldest member who is not suspended; without one, the oldest.
            team.leader_id = min(others, key=lambda each: each.suspended_at is not None).id
        teams.append((competition, team, bool(others)))
    session.flush()
    return teams


def _leave_teams_nameless(session: Session, user: User) -> None:
    """Rename teams named after the user, and transfer their leadership to other members."""
    for competition, team, has_others in hand_over_teams(session, user=user):
        if not has_others or team.name_key == user.name_key:
            neutral = f"Team of {names.of_deleted(user.id)}"
            rosters.set_name(team, rosters.free_name(session, competition=competition, name=neutral))
        session.flush()


def _forget_traces(session: Session, person: User) -> None:
    """Delete links, e-mails, uploads, roster entries and login data; withdraw requests."""
    for table in (AccountLink, AnnouncedUpload, Identity, Mail, *FACTORS):
        session.execute(delete(table).where(table.user_id == person.id))
    session.execute(
        update(Participation)
        .where(Participation.user_id == person.id, Participation.state == RequestState.OPEN)
        .values(state=RequestState.WITHDRAWN)
    )
    has_address = func.lower(RosterEntry.email) == (person.email_key or "")
    session.execute(delete(RosterEntry).where((RosterEntry.user_id == person.id) | has_address))
    session.execute(delete(TeamInvite).where(TeamInvite.created_by_id == person.id))

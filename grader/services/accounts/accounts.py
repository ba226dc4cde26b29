"""User accounts: sign up with name and password, the profile text, e-mail choices; find and list people."""

import secrets
import unicodedata
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import Select, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from grader.errors import ParticipantError
from grader.models import Login, User
from grader.services.accounts import known_addresses, logins, password_rules
from grader.services.accounts.password_hashing import BoundedHasher
from grader.services.mail.outbox import Notice
from grader.services.paging import PAGE_SIZE, Page, Part, Slice, page_of_query, slice_of_query
from grader.services.people import names
from grader.settings import Settings
from grader.text import plain_text

ABOUT_MAX_LENGTH = 2000


class InvalidAccount(ParticipantError):
    """A name or password cannot be used; `problems` has one sentence per field."""

    public_name = "invalid_account"

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(" ".join(problems.values()))
        self.problems = dict(problems)

    @property
    def details(self) -> Mapping[str, Any]:
        """All problems, each with the field that it is about."""
        return {"problems": [{"fields": [name], "message": each} for name, each in self.problems.items()]}


class NameTaken(InvalidAccount):
    """Somebody else has this name, or one that looks like it."""

    public_name = "name_taken"

    def __init__(self, name: str) -> None:
        super().__init__({"name": f"The name {name!r} is taken, or looks like a name that is."})
        self.name = name


class AboutTooLong(ParticipantError):
    """A text about oneself has more characters than are kept."""

    public_name = "about_too_long"

    def __init__(self, length: int) -> None:
        super().__init__(f"The text has at most {ABOUT_MAX_LENGTH:,} characters; this one has {length:,}.")
        self.length = length


def password_hasher(settings: Settings) -> BoundedHasher:
    """Return the Argon2id hasher of a process, whose threads take turns."""
    return BoundedHasher(
        time_cost=settings.password_hash_rounds, memory_cost=settings.password_hash_memory_kib
    )


def sign_up(
    session: Session,
    *,
    name: str,
    password: str,
    passwords: PasswordHasher,
    now: datetime,
    is_admin: bool = False,
) -> User:
    """Make an account; raise InvalidAccount with all problems, or NameTaken."""
    # Hashing takes a tenth of a second: before the first statement, while no lock is held.
    user = draft(name=name, password=password, passwords=passwords, now=now, is_admin=is_admin)
    return add(session, user=user)


def draft(
    *, name: str, password: str, passwords: PasswordHasher, now: datetime, is_admin: bool = False
) -> User:
    """Return an account that `add` may store; raise InvalidAccount with all problems."""
    problems: dict[str, str] = {}
    shown = ""
    try:
        shown = names.clean_name(name)
        names.require_unreserved(shown, is_admin=is_admin)
    except names.InvalidName as error:
        problems["name"] = error.message
    if password_problem := password_rules.problem(password, name=shown):
        problems["password"] = password_problem
    if problems:
        raise InvalidAccount(problems)
    return _user(shown, passwords.hash(_normalized(password)), now, is_admin=is_admin)


def named(name: str, *, password_hash: str, now: datetime) -> User:
    """Return an account that `add` may store, whose password another step hashed; raise InvalidAccount."""
    try:
        shown = names.clean_name(name)
        names.require_unreserved(shown, is_admin=False)
    except names.InvalidName as error:
        raise InvalidAccount({"name": error.message}) from None
    return _user(shown, password_hash, now, is_admin=False)


def unknown_password(passwords: PasswordHasher) -> str:
    """Return the hash of a password that nobody knows; it takes a tenth of a second."""
    return passwords.hash(secrets.token_urlsafe(32))


def _user(name: str, password_hash: str, now: datetime, *, is_admin: bool) -> User:
    return User(
        name=name,
        name_folded=names.folded(name),
        name_key=names.name_key(name),
        name_shape=names.name_shape(name),
        password_hash=password_hash,
        is_admin=is_admin,
        created_at=now,
        about="",
        unwanted_notices=[],
    )


def add(session: Session, *, user: User) -> User:
    """Store a drafted account; raise NameTaken."""
    names.hold_accounts(session)
    if names.is_taken(session, name=user.name):
        raise NameTaken(user.name)
    try:
        with session.begin_nested():
            session.add(user)
    except IntegrityError:  # a version that holds no names was faster
        raise NameTaken(user.name) from None
    return user


def create_user(
    session: Session, *, name: str, passwords: PasswordHasher, now: datetime, is_admin: bool = False
) -> tuple[User, str]:
    """Make an account with a generated password and return both; raise InvalidAccount or NameTaken."""
    password = secrets.token_urlsafe(15)
    user = sign_up(session, name=name, password=password, passwords=passwords, now=now, is_admin=is_admin)
    return user, password


def find(session: Session, *, user_id: int) -> User | None:
    """Return an account that is not deleted, None if there is none."""
    user = session.get(User, user_id)
    return None if user is None or user.deleted_at is not None else user


def list_page(session: Session, *, search: str = "", page: int = 1) -> Page[User]:
    """Return a page of the accounts whose name or address holds `search`, by name."""
    query = _named(search).order_by(User.name_folded)
    return page_of_query(session, query, page=page, page_size=PAGE_SIZE)


def list_after(session: Session, *, search: str = "", part: Part) -> Slice[User]:
    """Return a part of the accounts that `list_page` finds, the newest first."""
    key = User.__table__.c.id
    return slice_of_query(session, _named(search), key=key, part=part)


def _named(search: str) -> Select[User]:
    query = select(User).where(User.deleted_at.is_(None))
    if search:
        text = names.folded(search.strip())
        query = query.where(
            User.name_folded.contains(text, autoescape=True)
            | func.lower(User.email).contains(text, autoescape=True)
        )
    return query


def has_password(user: User | None, password: str, *, passwords: PasswordHasher) -> bool:
    """Return whether this is the person's password; it takes as long where nobody has one."""
    decoy = _decoy(passwords)
    stored = decoy if user is None or user.deleted_at is not None else user.password_hash
    try:
        passwords.verify(stored, _normalized(password[: password_rules.MAX_LENGTH]))
    except (VerificationError, InvalidHashError):
        return False
    return user is not None and user.deleted_at is None


def hashed(password: str, *, name: str, passwords: PasswordHasher) -> str:
    """Return what is kept of a new password; raise InvalidAccount if it cannot be one.

    It takes a tenth of a second: call it before a transaction, not within one.
    """
    if problem := password_rules.problem(password, name=name):
        raise InvalidAccount({"password": problem})
    return passwords.hash(_normalized(password))


def set_password(session: Session, *, user: User, password_hash: str, keep: Login | None = None) -> None:
    """Give a person a new password; all their logins end, but for `keep`, and no place is known any more."""
    session.get_one(User, user.id).password_hash = password_hash
    known_addresses.forget(session, user=user)
    logins.end_all(session, user=user, but=keep)
    session.flush()


def describe(session: Session, *, user: User, about: str) -> None:
    """Set what a person says about themselves; raise AboutTooLong."""
    if len(about) > ABOUT_MAX_LENGTH:
        raise AboutTooLong(len(about))
    session.get_one(User, user.id).about = plain_text(about)
    session.flush()


def choose_notices(session: Session, *, user: User, wanted: Collection[str]) -> None:
    """Set which kinds of e-mail a person gets."""
    unwanted = [kind.value for kind in Notice if kind.value not in wanted]
    session.get_one(User, user.id).unwanted_notices = unwanted
    session.flush()


def _normalized(password: str) -> str:
    return unicodedata.normalize("NFC", password)


_decoys: dict[PasswordHasher, str] = {}


def _decoy(passwords: PasswordHasher) -> str:
    if passwords not in _decoys:
        _decoys[passwords] = passwords.hash(secrets.token_urlsafe(15))
    return _decoys[passwords]

"""Accounts: signing up, logging in, API tokens, and the one-time link of the first administrator.

Secrets (login and API tokens, the link) are shown once and kept as their sha256.
"""

import hashlib
import secrets
import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, exists, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from grader.errors import ParticipantError
from grader.models import ApiToken, Login, SetupLink, User
from grader.services import names
from grader.services.texts import one_line
from grader.settings import Settings

PASSWORD_MIN_LENGTH = 8
PASSWORD_MAX_LENGTH = 1024
TOKEN_PREFIX = "fb_"  # noqa: S105
TOUCH_INTERVAL = timedelta(minutes=5)
USER_AGENT_MAX_LENGTH = 300


class InvalidAccount(ParticipantError):
    """A name or password cannot be used; `problems` has one sentence per field."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(" ".join(problems.values()))
        self.problems = dict(problems)


class NameTaken(InvalidAccount):
    """Somebody else has this name, or one that looks the same but for case."""

    def __init__(self, name: str) -> None:
        super().__init__({"name": f"The name {name!r} is taken."})
        self.name = name


class UnknownUser(ParticipantError):
    """No account has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no account named {name!r}.")
        self.name = name


class UnknownToken(ParticipantError):
    """The person has no such API token."""

    def __init__(self, token_id: int) -> None:
        super().__init__(f"You have no API token {token_id}.")
        self.token_id = token_id


class InvalidSetupLink(ParticipantError):
    """The link was used, replaced by a newer one, or never given out."""

    def __init__(self) -> None:
        super().__init__("This setup link is not valid: it was used or replaced by a newer one.")


def password_hasher(settings: Settings) -> PasswordHasher:
    """Return the Argon2id hasher of an installation."""
    return PasswordHasher(
        time_cost=settings.password_hash_rounds, memory_cost=settings.password_hash_memory_kib, parallelism=1
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
    shown = names.shown(name)
    found = {"name": names.problem(shown), "password": _password_problem(password, name=shown)}
    problems = {field: problem for field, problem in found.items() if problem}
    if problems:
        raise InvalidAccount(problems)
    # Hashing takes a tenth of a second: before the first statement, while no lock is held.
    user = User(
        name=shown,
        name_key=names.key(shown),
        password_hash=passwords.hash(_normalized(password)),
        is_admin=is_admin,
        created_at=now,
    )
    try:
        with session.begin_nested():
            session.add(user)
    except IntegrityError:
        raise NameTaken(shown) from None
    return user


def create_user(
    session: Session, *, name: str, passwords: PasswordHasher, now: datetime, is_admin: bool = False
) -> tuple[User, str]:
    """Make an account with a generated password and return both; raise InvalidAccount or NameTaken."""
    password = secrets.token_urlsafe(15)
    user = sign_up(session, name=name, password=password, passwords=passwords, now=now, is_admin=is_admin)
    return user, password


def get(session: Session, *, name: str) -> User:
    """Return the account of a name, whatever its case; raise UnknownUser."""
    user = _find(session, name)
    if user is None:
        raise UnknownUser(name)
    return user


def authenticate(session: Session, *, name: str, password: str, passwords: PasswordHasher) -> User | None:
    """Return the account if the password is right; an unknown name takes as long as a known one.

    Give it a read session: hashing takes a tenth of a second, which no write lock should last.
    """
    user = _find(session, name)
    decoy = _decoy(passwords)
    stored = decoy if user is None else user.password_hash
    try:
        passwords.verify(stored, _normalized(password)[:PASSWORD_MAX_LENGTH])
    except (VerificationError, InvalidHashError):
        return None
    return user


def change_password(session: Session, *, user: User, password: str, passwords: PasswordHasher) -> None:
    """Give a person another password and end all their logins; raise InvalidAccount."""
    if problem := _password_problem(password, name=user.name):
        raise InvalidAccount({"password": problem})
    password_hash = passwords.hash(_normalized(password))  # before the first statement, as in sign_up
    session.execute(update(User).where(User.id == user.id).values(password_hash=password_hash))
    end_all_logins(session, user=user)


def start_login(session: Session, *, user: User, user_agent: str, lifetime: timedelta, now: datetime) -> str:
    """Record a login and return its token, which the cookie holds; forget logins that have ended."""
    session.execute(delete(Login).where(Login.expires_at <= now))
    token = secrets.token_urlsafe(32)
    session.add(
        Login(
            user_id=user.id,
            token_sha256=_sha256(token),
            user_agent=one_line(user_agent, USER_AGENT_MAX_LENGTH),
            created_at=now,
            last_used_at=now,
            expires_at=now + lifetime,
        )
    )
    session.flush()
    return token


def find_login(session: Session, *, token: str, now: datetime) -> Login | None:
    """Return the login of a cookie's token with its user, None if it has ended; changes nothing."""
    return session.scalar(
        select(Login)
        .where(Login.token_sha256 == _sha256(token), Login.expires_at > now)
        .options(joinedload(Login.user))
    )


def end_login(session: Session, *, token: str) -> None:
    """End a login; nothing happens if it has ended."""
    session.execute(delete(Login).where(Login.token_sha256 == _sha256(token)))


def end_all_logins(session: Session, *, user: User) -> None:
    """End all logins of a person, everywhere."""
    session.execute(delete(Login).where(Login.user_id == user.id))


def create_token(session: Session, *, user: User, name: str, now: datetime) -> tuple[ApiToken, str]:
    """Make an API token and return it with its text, which is shown once."""
    text = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken(
        user_id=user.id,
        name=one_line(name, names.MAX_LENGTH) or "token",
        prefix=text[: len(TOKEN_PREFIX) + 6],
        token_sha256=_sha256(text),
        created_at=now,
        last_used_at=None,
        revoked_at=None,
    )
    session.add(token)
    session.flush()
    return token, text


def find_token(session: Session, *, token: str) -> ApiToken | None:
    """Return the API token with this text and its user, None if there is none or it is revoked."""
    return session.scalar(
        select(ApiToken)
        .where(ApiToken.token_sha256 == _sha256(token), ApiToken.revoked_at.is_(None))
        .options(joinedload(ApiToken.user))
    )


def list_tokens(session: Session, *, user: User) -> list[ApiToken]:
    """Return a person's API tokens that are not revoked, newest first."""
    query = select(ApiToken).where(ApiToken.user_id == user.id, ApiToken.revoked_at.is_(None))
    return list(session.scalars(query.order_by(ApiToken.id.desc())))


def revoke_token(session: Session, *, user: User, token_id: int, now: datetime) -> None:
    """Make one of a person's API tokens useless; raise UnknownToken if it is not theirs."""
    token = session.get(ApiToken, token_id)
    if token is None or token.user_id != user.id:
        raise UnknownToken(token_id)
    token.revoked_at = token.revoked_at or now
    session.flush()


def needs_touch(used: Login | ApiToken, *, now: datetime) -> bool:
    """Tell whether the time of last use is old enough to be written again (at most every five minutes)."""
    return used.last_used_at is None or now - used.last_used_at >= TOUCH_INTERVAL


def touch(session: Session, *, used: Login | ApiToken, now: datetime) -> None:
    """Write the time of last use, unless it was written in the last five minutes."""
    stored = session.get(Login, used.id) if isinstance(used, Login) else session.get(ApiToken, used.id)
    if stored is not None and needs_touch(stored, now=now):
        stored.last_used_at = now
        session.flush()


def create_setup_link(session: Session, *, now: datetime) -> str | None:
    """Make the one-time token for the first administrator, replacing earlier ones; None if there is one."""
    if _has_admin(session):
        return None
    session.execute(delete(SetupLink).where(SetupLink.used_at.is_(None)))
    token = secrets.token_urlsafe(32)
    session.add(SetupLink(token_sha256=_sha256(token), created_at=now, used_at=None))
    session.flush()
    return token


def is_setup_link(session: Session, *, token: str) -> bool:
    """Tell whether a setup link's token can still be used."""
    return _open_link(session, token) is not None and not _has_admin(session)


def use_setup_link(
    session: Session, *, token: str, name: str, password: str, passwords: PasswordHasher, now: datetime
) -> User:
    """Make the first administrator; raise InvalidSetupLink, InvalidAccount or NameTaken."""
    link = _open_link(session, token, lock=True)
    if link is None or _has_admin(session):
        raise InvalidSetupLink
    user = sign_up(session, name=name, password=password, passwords=passwords, now=now, is_admin=True)
    link.used_at = now
    session.flush()
    return user


def _find(session: Session, name: str) -> User | None:
    shown = names.shown(name)
    if names.problem(shown):  # nobody has it, and the database could stumble over it
        return None
    return session.scalar(select(User).where(User.name_key == names.key(shown)))


def _has_admin(session: Session) -> bool:
    return bool(session.scalar(select(exists().where(User.is_admin))))


def _open_link(session: Session, token: str, *, lock: bool = False) -> SetupLink | None:
    query = select(SetupLink).where(SetupLink.token_sha256 == _sha256(token), SetupLink.used_at.is_(None))
    return session.scalar(query.with_for_update() if lock else query)


def _password_problem(password: str, *, name: str) -> str | None:
    if len(password) < PASSWORD_MIN_LENGTH:
        return f"A password has at least {PASSWORD_MIN_LENGTH} characters; this one has {len(password)}."
    if len(password) > PASSWORD_MAX_LENGTH:
        return f"A password has at most {PASSWORD_MAX_LENGTH:,} characters; this one has {len(password):,}."
    if name and names.key(password) == names.key(name):
        return "A password cannot be the name."
    if len(set(password)) < 3:
        return "A password needs at least three different characters."
    return None


def _normalized(password: str) -> str:
    return unicodedata.normalize("NFC", password)


_decoys: dict[PasswordHasher, str] = {}


def _decoy(passwords: PasswordHasher) -> str:
    if passwords not in _decoys:
        _decoys[passwords] = passwords.hash(secrets.token_urlsafe(15))
    return _decoys[passwords]


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()

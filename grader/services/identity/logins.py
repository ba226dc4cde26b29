"""Sessions."""

import hashlib
import hmac
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, exists, literal, select
from sqlalchemy.orm import Session, contains_eager

from grader import db
from grader.errors import ErrorKind, ParticipantError, Refusal
from grader.models import (
    ApiToken,
    FactorPurpose,
    FactorStep,
    Identity,
    Login,
    SecondFactor,
    User,
)
from grader.services.identity import one_time_links
from grader.services.site import counting
from grader.text import one_line

USER_AGENT_MAX_LENGTH = 300
INTERVAL = timedelta(minutes=5)
IDENTITY_PENDING = timedelta(minutes=30)  # to choose the name of a new account


class SecondFactorAsked(ParticipantError):
    """The account has a second factor that has not been verified."""

    public_name = "second_factor_asked"
    kind = ErrorKind.LOGIN_NEEDED
    message = "Enter your second factor first."


def start(
    session: Session,
    *,
    user: User,
    user_agent: str,
    lifetime: timedelta,
    provider: str | None = None,
    has_proved_factor: bool = False,
    now: datetime,
) -> str:
    """Start a session, delete expired ones and return the token for the cookie.

    Raises Refusal for suspended accounts. Raises SecondFactorAsked if the account has a second factor,
    unless `has_proved_factor`.
    """
    suspension = select(User.suspension_reason).where(User.id == user.id, User.suspended_at.is_not(None))
    if reason := session.scalar(suspension):
        message = f"Your account is suspended ({reason}). Contact the site's administrators."
        raise Refusal("suspended", ErrorKind.FORBIDDEN, message)
    hold_factors(session, user=user)
    if not has_proved_factor and has_factor(session, user=user):
        raise SecondFactorAsked
    session.execute(delete(Login).where(Login.expires_at <= now))
    token = one_time_links.new_secret()
    session.add(
        Login(
            user_id=user.id,
            token_sha256=one_time_links.sha256_of(token),
            user_agent=one_line(user_agent, USER_AGENT_MAX_LENGTH),
            provider=provider,
            created_at=now,
            last_used_at=now,
            expires_at=now + lifetime,
        )
    )
    session.flush()
    return token


def find(session: Session, *, token: str, now: datetime | None = None) -> tuple[Login, datetime] | None:
    """Return the session of a cookie's token with its user, and the time, by default the database's.

    Return None if the session has ended.
    """
    time = db.clock(session) if now is None else literal(now, Login.expires_at.type)
    query = (
        select(Login, time)
        .join(Login.user)
        .where(
            Login.token_sha256 == one_time_links.sha256_of(token),
            Login.expires_at > time,
            User.suspended_at.is_(None),
        )
        .options(contains_eager(Login.user))
    )
    return session.execute(query).one_or_none()


def list_own(session: Session, *, user: User, now: datetime) -> list[Login]:
    """Return a user's active sessions, most recently used first."""
    query = select(Login).where(Login.user_id == user.id, Login.expires_at > now)
    return list(session.scalars(query.order_by(Login.last_used_at.desc(), Login.id.desc())))


def end(session: Session, *, token: str) -> None:
    """End the session with this token, if any."""
    session.execute(delete(Login).where(Login.token_sha256 == one_time_links.sha256_of(token)))


def end_own(session: Session, *, user: User, login_id: int) -> None:
    """End one of a user's sessions; raise Refusal."""
    login = session.get(Login, login_id)
    if login is None or login.user_id != user.id:
        raise Refusal("unknown_login", ErrorKind.NOT_FOUND, "This session is not yours or has already ended.")
    session.delete(login)
    session.flush()


def hold_factors(session: Session, *, user: User) -> None:
    """Hold the lock of a user's second factors, so that none is added while a session starts."""
    counting.hold_lock(session, f"second factors of {user.id}")


def has_factor(session: Session, *, user: User) -> bool:
    """Return whether an account has a second factor."""
    return bool(session.scalar(select(exists().where(SecondFactor.user_id == user.id))))


def end_all(session: Session, *, user: User, but: Login | None = None) -> None:
    """End all sessions of a user except `but`, and all logins that wait for a second factor."""
    end_waiting(session, user=user)
    query = delete(Login).where(Login.user_id == user.id)
    session.execute(query if but is None else query.where(Login.id != but.id))


def end_waiting(session: Session, *, user: User) -> None:
    """End all logins of a user that wait for a second factor."""
    waiting = (FactorStep.user_id == user.id) & (FactorStep.purpose == FactorPurpose.LOG_IN)
    session.execute(delete(FactorStep).where(waiting))


def needs_touch(used: Login | ApiToken, *, now: datetime) -> bool:
    """Return whether the stored time of the last use is old enough to be updated."""
    return used.last_used_at is None or now - used.last_used_at >= INTERVAL


def touch(session: Session, *, used: Login | ApiToken, now: datetime) -> None:
    """Update the time of the last use, unless it was updated in the last five minutes."""
    stored = session.get(Login, used.id) if isinstance(used, Login) else session.get(ApiToken, used.id)
    if stored is not None and needs_touch(stored, now=now):
        stored.last_used_at = now
        session.flush()


def is_old_identity(now: datetime) -> ColumnElement[bool]:
    """Return the SQL condition for people who did not create an account in time."""
    return Identity.user_id.is_(None) & (Identity.last_login_at <= now - IDENTITY_PENDING)


def keyed_hash(secret: str, text: str) -> str:
    """Return the hash of a text, keyed with the site's secret."""
    return hmac.digest(secret.encode(), text.encode(errors="surrogatepass"), hashlib.sha256).hex()

"""Login sessions of browsers, and login links"""

from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, ParticipantError
from grader.models import ApiToken, LinkPurpose, Login, User
from grader.services.accounts import one_time_links
from grader.text import one_line

USER_AGENT_MAX_LENGTH = 300
LINK_LIFETIME = timedelta(days=1)


class UnknownLogin(ParticipantError):
    """A login that ended, or of another person."""

    public_name = "unknown_login"
    kind = ErrorKind.NOT_FOUND
    message = "This login is not yours, or it has already ended."


def start(session: Session, *, user: User, user_agent: str, lifetime: timedelta, now: datetime) -> str:
    """Return the token of a new login for the cookie, and delete expired logins."""
    session.execute(delete(Login).where(Login.expires_at <= now))
    token = one_time_links.new_secret()
    session.add(
        Login(
            user_id=user.id,
            token_sha256=one_time_links.sha256_of(token),
            user_agent=one_line(user_agent, USER_AGENT_MAX_LENGTH),
            created_at=now,
            last_used_at=now,
            expires_at=now + lifetime,
        )
    )
    session.flush()
    return token


def create_link(session: Session, *, user: User, created_by: str, now: datetime) -> str:
    """Return the token of a link that logs in once, within a day."""
    return one_time_links.create(
        session,
        purpose=LinkPurpose.LOG_IN,
        user=user,
        created_by=created_by,
        lifetime=LINK_LIFETIME,
        now=now,
    )


def link_holder(session: Session, *, token: str, now: datetime, use: bool = False) -> User:
    """Return the person of a login link, and use it up with `use`; raise InvalidLink."""
    link = one_time_links.require(session, purpose=LinkPurpose.LOG_IN, token=token, now=now, lock=use)
    person = one_time_links.holder(session, link)
    if use:
        one_time_links.spend(session, link=link, now=now)
    return person


def find(session: Session, *, token: str, now: datetime) -> Login | None:
    """Return the login of a cookie's token with its user, None if it has ended."""
    return session.scalar(
        select(Login)
        .where(Login.token_sha256 == one_time_links.sha256_of(token), Login.expires_at > now)
        .options(joinedload(Login.user))
    )


def list_own(session: Session, *, user: User, now: datetime) -> list[Login]:
    """Return a person's active logins, the last used first."""
    query = select(Login).where(Login.user_id == user.id, Login.expires_at > now)
    return list(session.scalars(query.order_by(Login.last_used_at.desc(), Login.id.desc())))


def end(session: Session, *, token: str) -> None:
    """End a login, if it has not ended."""
    session.execute(delete(Login).where(Login.token_sha256 == one_time_links.sha256_of(token)))


def end_own(session: Session, *, user: User, login_id: int) -> None:
    """End one of a person's logins; raise UnknownLogin."""
    login = session.get(Login, login_id)
    if login is None or login.user_id != user.id:
        raise UnknownLogin
    session.delete(login)
    session.flush()


def end_all(session: Session, *, user: User, but: Login | None = None) -> None:
    """End all logins of a person except `but`."""
    query = delete(Login).where(Login.user_id == user.id)
    session.execute(query if but is None else query.where(Login.id != but.id))


INTERVAL = timedelta(minutes=5)


def needs_touch(used: Login | ApiToken, *, now: datetime) -> bool:
    """Return whether the time of last use is old enough to be written again."""
    return used.last_used_at is None or now - used.last_used_at >= INTERVAL


def touch(session: Session, *, used: Login | ApiToken, now: datetime) -> None:
    """Write the time of last use, unless it was written in the last five minutes."""
    stored = session.get(Login, used.id) if isinstance(used, Login) else session.get(ApiToken, used.id)
    if stored is not None and needs_touch(stored, now=now):
        stored.last_used_at = now
        session.flush()

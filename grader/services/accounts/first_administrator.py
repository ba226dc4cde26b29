"""Setup link: the one-time link by which the first administrator of a new site signs up."""

from datetime import datetime

from argon2 import PasswordHasher
from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import SetupLink, User
from grader.services.accounts import accounts, secret_tokens


class InvalidSetupLink(ParticipantError):
    """The link was used, replaced by a newer one, or never existed."""

    public_name = "invalid_setup_link"
    kind = ErrorKind.NOT_FOUND
    message = "This setup link is not valid: it was used or replaced by a newer one."


def create(session: Session, *, now: datetime) -> str | None:
    """Make the one-time token for the first administrator, replacing earlier ones; None if there is one."""
    if _has_admin(session):
        return None
    session.execute(delete(SetupLink).where(SetupLink.used_at.is_(None)))
    token = secret_tokens.new()
    session.add(SetupLink(token_sha256=secret_tokens.sha256(token), created_at=now, used_at=None))
    session.flush()
    return token


def is_open(session: Session, *, token: str) -> bool:
    """Return whether a setup link's token can still be used."""
    return _open_link(session, token) is not None and not _has_admin(session)


def use(
    session: Session, *, token: str, name: str, password: str, passwords: PasswordHasher, now: datetime
) -> User:
    """Make the first administrator; raise InvalidSetupLink, InvalidAccount or NameTaken."""
    user = accounts.draft(name=name, password=password, passwords=passwords, now=now, is_admin=True)
    link = _open_link(session, token, lock=True)
    if link is None or _has_admin(session):
        raise InvalidSetupLink
    accounts.add(session, user=user)
    link.used_at = now
    session.flush()
    return user


def _has_admin(session: Session) -> bool:
    return bool(session.scalar(select(exists().where(User.is_admin))))


def _open_link(session: Session, token: str, *, lock: bool = False) -> SetupLink | None:
    query = select(SetupLink).where(
        SetupLink.token_sha256 == secret_tokens.sha256(token), SetupLink.used_at.is_(None)
    )
    return session.scalar(query.with_for_update() if lock else query)

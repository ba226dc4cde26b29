"""API tokens: create, list and revoke; name, permission (read or submit) and expiry of a token."""

import enum
from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, ParticipantError
from grader.models import ApiToken, User
from grader.services.accounts import secret_tokens
from grader.text.plain import one_line

PREFIX = "fb_"
NAME_MAX_LENGTH = 64


class Scope(enum.StrEnum):
    """What a token may be used for."""

    READ = "read"
    SUBMIT = "submit"


class UnknownToken(ParticipantError):
    """The person has no such API token."""

    public_name = "unknown_token"
    kind = ErrorKind.NOT_FOUND

    def __init__(self, token_id: int) -> None:
        super().__init__(f"This account has no API token {token_id}.")
        self.token_id = token_id


class ScopeMissing(ParticipantError):
    """A token was used for something that it was not made for."""

    public_name = "scope_missing"
    kind = ErrorKind.FORBIDDEN

    def __init__(self, token: ApiToken, needed: Scope) -> None:
        super().__init__(
            f"The API token {token.name!r} may only {' and '.join(token.scopes)}. This needs a token that "
            f"may {needed}; create one on your account page."
        )
        self.needed = needed


def create(
    session: Session,
    *,
    user: User,
    name: str,
    now: datetime,
    scopes: Collection[Scope] = tuple(Scope),
    lifetime: timedelta | None = None,
) -> tuple[ApiToken, str]:
    """Make an API token and return it with its text, which is shown once."""
    text = secret_tokens.new(PREFIX)
    token = ApiToken(
        user_id=user.id,
        name=one_line(name, NAME_MAX_LENGTH) or "token",
        prefix=text[: len(PREFIX) + 6],
        token_sha256=secret_tokens.sha256(text),
        scopes=[scope.value for scope in Scope if scope in scopes],
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
        last_used_at=None,
        revoked_at=None,
    )
    session.add(token)
    session.flush()
    return token, text


def find(session: Session, *, token: str, now: datetime) -> ApiToken | None:
    """Return the API token with this text and its user, None if there is none or it has ended."""
    return session.scalar(
        select(ApiToken)
        .where(
            ApiToken.token_sha256 == secret_tokens.sha256(token),
            ApiToken.revoked_at.is_(None),
            or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > now),
        )
        .options(joinedload(ApiToken.user))
    )


def require_scope(token: ApiToken, needed: Scope) -> None:
    """Raise ScopeMissing if a token was not made for this."""
    if needed.value not in token.scopes:
        raise ScopeMissing(token, needed)


def list_own(session: Session, *, user: User) -> list[ApiToken]:
    """Return a person's API tokens that are not revoked, newest first, with those that expired."""
    query = select(ApiToken).where(ApiToken.user_id == user.id, ApiToken.revoked_at.is_(None))
    return list(session.scalars(query.order_by(ApiToken.id.desc())))


def revoke(session: Session, *, user: User, token_id: int, now: datetime) -> ApiToken:
    """Make one of a person's API tokens useless; raise UnknownToken if it is not theirs."""
    token = session.get(ApiToken, token_id)
    if token is None or token.user_id != user.id:
        raise UnknownToken(token_id)
    token.revoked_at = token.revoked_at or now
    session.flush()
    return token


def forget_all(session: Session, *, user: User) -> None:
    """Delete all of a person's API tokens with the names that they gave them."""
    session.execute(delete(ApiToken).where(ApiToken.user_id == user.id))

"""API tokens: creation, scopes, restriction to one competition, expiry, revocation."""

import enum
from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, delete, func, literal, or_, select
from sqlalchemy.orm import Session, contains_eager, joinedload

from grader import db
from grader.errors import ErrorKind, Refusal
from grader.models import ApiToken, Competition, Submission, User
from grader.services.identity import one_time_links
from grader.services.site import counting
from grader.text import one_line

PREFIX = "fb_"
NAME_MAX_LENGTH = 64
MOST = 100  # valid tokens per user


class Scope(enum.StrEnum):
    """The scopes of API tokens."""

    READ = "read"
    SUBMIT = "submit"
    ORGANIZE = "organize"
    ADMIN = "admin"


USUAL_SCOPES = (Scope.READ, Scope.SUBMIT)


def other_competition(token: ApiToken) -> Refusal:
    """Return the refusal for a token that is limited to another competition."""
    slug = token.competition.slug if token.competition else ""
    message = f"The API token {token.name!r} is limited to the competition {slug}."
    return Refusal("other_competition", ErrorKind.FORBIDDEN, message)


def create(
    session: Session,
    *,
    user: User,
    name: str,
    now: datetime,
    scopes: Collection[Scope] = USUAL_SCOPES,
    lifetime: timedelta | None = None,
    competition: Competition | None = None,
    made_with: ApiToken | None = None,
) -> tuple[ApiToken, str]:
    """Create a token and return it with its secret text; raise Refusal."""
    _require_room(session, user, now)
    expires_at = None if lifetime is None else now + lifetime
    if made_with is not None:
        expires_at = _bounded(made_with, scopes=scopes, competition=competition, expires_at=expires_at)
    text = one_time_links.new_secret(PREFIX)
    token = ApiToken(
        user_id=user.id,
        name=one_line(name, NAME_MAX_LENGTH) or "token",
        prefix=text[: len(PREFIX) + 6],
        token_sha256=one_time_links.sha256_of(text),
        scopes=[scope.value for scope in Scope if scope in scopes],
        competition_id=competition.id if competition else None,
        made_with_id=made_with.id if made_with else None,
        created_at=now,
        expires_at=expires_at,
        last_used_at=None,
        revoked_at=None,
    )
    session.add(token)
    session.flush()
    return token, text


def find(session: Session, *, token: str, now: datetime | None = None) -> tuple[ApiToken, datetime] | None:
    """Return the valid token with this text, its user, and the time, by default the database's."""
    time = db.clock(session) if now is None else literal(now, ApiToken.created_at.type)
    query = _valid(time).where(ApiToken.token_sha256 == one_time_links.sha256_of(token))
    return session.execute(query.add_columns(time)).one_or_none()


def get(session: Session, *, token_id: int, now: datetime) -> ApiToken | None:
    """Return an API token with its user, or None if it is no longer valid."""
    return session.scalar(_valid(now).where(ApiToken.id == token_id))


def require_scope(token: ApiToken, needed: Scope) -> None:
    """Raise Refusal unless a token has a scope."""
    if needed.value not in token.scopes:
        message = (
            f"The API token {token.name!r} has only the scope{'s' * (len(token.scopes) != 1)} "
            f"{' and '.join(token.scopes)}. This request requires the scope {needed}. Create a token with "
            "this scope on your account page."
        )
        raise Refusal("scope_missing", ErrorKind.FORBIDDEN, message)


def require_submission(session: Session, token: ApiToken, *, submission_id: int) -> None:
    """Raise Refusal unless a submission belongs to the token's competition."""
    query = select(Submission.id).where(
        Submission.id == submission_id, Submission.competition_id == token.competition_id
    )
    if session.scalar(query) is None:
        raise other_competition(token)


def list_own(session: Session, *, user: User) -> list[ApiToken]:
    """Return a user's API tokens that are not revoked, including expired ones, newest first."""
    query = (
        select(ApiToken)
        .where(ApiToken.user_id == user.id, ApiToken.revoked_at.is_(None))
        .options(joinedload(ApiToken.competition))
        .order_by(ApiToken.id.desc())
    )
    return list(session.scalars(query))


def revoke(
    session: Session, *, user: User, token_id: int, now: datetime, asking: ApiToken | None = None
) -> ApiToken:
    """Revoke a user's token and all tokens created with it; raise Refusal."""
    token = session.get(ApiToken, token_id)
    if token is None or token.user_id != user.id:
        raise Refusal("unknown_token", ErrorKind.NOT_FOUND, f"This account has no API token {token_id}.")
    if asking is not None:
        for scope in token.scopes:
            require_scope(asking, Scope(scope))
    ending = [token]
    while ending:
        each = ending.pop()
        each.revoked_at = each.revoked_at or now
        ending += session.scalars(
            select(ApiToken).where(ApiToken.made_with_id == each.id, ApiToken.revoked_at.is_(None))
        )
    session.flush()
    return token


def forget(session: Session, *, token_id: int) -> None:
    """Delete a token and all tokens created with it."""
    session.execute(delete(ApiToken).where(or_(ApiToken.id == token_id, ApiToken.made_with_id == token_id)))


def forget_all(session: Session, *, user: User) -> None:
    """Delete all of a user's API tokens."""
    session.execute(delete(ApiToken).where(ApiToken.user_id == user.id))


def _require_room(session: Session, user: User, now: datetime) -> None:
    counting.hold_lock(session, f"API tokens of {user.id}")
    living = select(func.count()).where(ApiToken.user_id == user.id, *_has_not_ended(now))
    if (session.scalar(living) or 0) >= MOST:
        message = f"This account has reached the limit of {MOST} API tokens. Revoke one first."
        raise Refusal("too_many_tokens", ErrorKind.CONFLICT, message)


def _valid(now: datetime | ColumnElement[datetime]) -> Select[ApiToken]:
    return (
        select(ApiToken)
        .join(ApiToken.user)
        .where(*_has_not_ended(now), User.suspended_at.is_(None))
        .options(contains_eager(ApiToken.user), joinedload(ApiToken.competition))
    )


def _has_not_ended(now: datetime | ColumnElement[datetime]) -> tuple[ColumnElement[bool], ...]:
    return ApiToken.revoked_at.is_(None), or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > now)


def _bounded(
    asking: ApiToken,
    *,
    scopes: Collection[Scope],
    competition: Competition | None,
    expires_at: datetime | None,
) -> datetime | None:
    """Return the earlier of both tokens' expiries; raise Refusal if `asking` has fewer rights."""
    lacks = ""
    if more := [scope for scope in scopes if scope.value not in asking.scopes]:
        lacks = f"it lacks the scope {' and '.join(more)}"
    elif asking.competition_id not in (None, competition and competition.id):
        lacks = "it is limited to one competition"
    if lacks:
        message = f"A token cannot create a token with more rights than its own: {lacks}."
        raise Refusal("insufficient_token", ErrorKind.FORBIDDEN, message)
    return min(filter(None, (expires_at, asking.expires_at)), default=None)

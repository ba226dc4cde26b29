"""Logins and changes of second factors that were started in one browser and wait for a second factor.

A step is not a session: it allows only its own page, expires soon, and ends when the password changes.
"""

import hashlib
import hmac
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session, joinedload

from grader.models import FactorPurpose, FactorStep, User
from grader.services.accounts import logins, one_time_links

LIFETIME = timedelta(minutes=10)


def begin(
    session: Session, *, user: User, purpose: FactorPurpose, is_confirmed: bool = False, now: datetime
) -> str:
    """Start a step, delete expired ones and return the token for the browser."""
    session.execute(delete(FactorStep).where(FactorStep.expires_at <= now))
    token = one_time_links.new_secret()
    session.add(
        FactorStep(
            user_id=user.id,
            purpose=purpose,
            token_sha256=one_time_links.sha256_of(token),
            is_confirmed=is_confirmed,
            expires_at=now + LIFETIME,
        )
    )
    session.flush()
    return token


def find(
    session: Session, *, token: str, purpose: FactorPurpose, now: datetime, lock: bool = False
) -> FactorStep | None:
    """Return the step of a browser's token, or None if it has ended.

    With `lock`, first hold the lock of the user's second factors: resets also lock in this order.
    """
    query = (
        select(FactorStep)
        .where(
            FactorStep.token_sha256 == one_time_links.sha256_of(token),
            FactorStep.purpose == purpose,
            FactorStep.expires_at > now,
        )
        .options(joinedload(FactorStep.user))
        .execution_options(populate_existing=True)
    )
    step = session.scalar(query)
    if step is None or not lock:
        return step
    logins.hold_factors(session, user=step.user)
    return session.scalar(query.with_for_update(of=FactorStep))


def renew(session: Session, *, step: FactorStep, now: datetime) -> str:
    """Replace a step by a confirmed one with a new token, so that no response to its challenge is reused."""
    end(session, step=step)
    return begin(session, user=step.user, purpose=step.purpose, is_confirmed=True, now=now)


def end(session: Session, *, step: FactorStep) -> None:
    """End a step, so that its token and its challenge are never accepted again."""
    session.delete(step)
    session.flush()


def key_of(token: str, *, secret: str, use: str) -> bytes:
    """Return the 32 bytes for one use of a step, such as its challenge, which only the server can derive."""
    return hmac.digest(secret.encode(), f"second factor: {use}: {token}".encode(), hashlib.sha256)

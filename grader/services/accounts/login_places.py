"""Addresses and browsers that accounts share: kept as hashes for 30 days, unless the operator forbids it.

A hash under the secret key says whether two logins came from the same place, and nothing else: neither the
address nor the browser can be read from it.
"""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from grader.models import LoginPlace, PlaceKind, User
from grader.services.accounts import networks
from grader.services.counting import named_locks

KEPT = timedelta(days=30)
MOST = 30  # of one person


def note(
    session: Session, *, user: User, address: str | None, browsers: Sequence[str], secret: str, now: datetime
) -> None:
    """Count a login from an address, in a browser of these numbers; of many places the newest stay."""
    named_locks.hold(session, f"login places of {user.id}")
    mine = select(LoginPlace).where(LoginPlace.user_id == user.id)
    known = {each.place_hash: each for each in session.scalars(mine)}
    for kind, place_hash in _places(address, browsers, secret):
        found = known.get(place_hash)
        if found is None:
            found = LoginPlace(
                user_id=user.id, kind=kind, place_hash=place_hash, login_count=0, first_login_at=now
            )
            session.add(found)
        found.login_count += 1
        found.last_login_at = now
    session.flush()
    newest_first = mine.order_by(LoginPlace.last_login_at.desc(), LoginPlace.id.desc())
    for surplus in session.scalars(newest_first.offset(MOST)):
        session.delete(surplus)
    session.flush()


def has_old(session: Session, *, now: datetime) -> bool:
    """Return whether `forget_old` would delete something."""
    old = select(LoginPlace.id).where(LoginPlace.last_login_at <= now - KEPT)
    return session.scalar(old.limit(1)) is not None


def forget_old(session: Session, *, now: datetime) -> None:
    """Forget places from which nobody has logged in for 30 days."""
    session.execute(delete(LoginPlace).where(LoginPlace.last_login_at <= now - KEPT))


def _places(address: str | None, browsers: Sequence[str], secret: str) -> Iterator[tuple[PlaceKind, str]]:
    network = networks.network(address)
    if network:
        yield PlaceKind.ADDRESS, _hash(secret, f"shared address {network}")
    for number in dict.fromkeys(browsers):
        yield PlaceKind.BROWSER, _hash(secret, f"shared browser {number}")


def _hash(secret: str, text: str) -> str:
    return hmac.digest(secret.encode(), text.encode(), hashlib.sha256).hex()

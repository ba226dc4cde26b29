"""IP addresses and browsers of logins: a person's known addresses, and those that accounts share.

A hash under the secret key says whether two logins came from the same place, and nothing else: neither the
address nor the browser can be read from it.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from grader.models import KnownAddress, LoginPlace, PlaceKind, User
from grader.services import counting

KEPT = timedelta(days=30)
MOST = 30  # of one person
KNOWN_KEPT = timedelta(days=90)
MOST_KNOWN = 20  # of one person


def network(address: str | None) -> str:
    """Return what counts as one address."""
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return address or ""
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def note(
    session: Session, *, user: User, address: str | None, browsers: Sequence[str], secret: str, now: datetime
) -> None:
    """Count a login from an address, in a browser of these numbers; of many places the newest stay."""
    counting.hold_lock(session, f"login places of {user.id}")
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
    places = select(LoginPlace.id).where(LoginPlace.last_login_at <= now - KEPT)
    known = select(KnownAddress.id).where(KnownAddress.last_login_at <= now - KNOWN_KEPT)
    return any(session.scalar(old.limit(1)) is not None for old in (places, known))


def forget_old(session: Session, *, now: datetime) -> None:
    """Forget places and known addresses from which nobody has logged in for long."""
    session.execute(delete(LoginPlace).where(LoginPlace.last_login_at <= now - KEPT))
    session.execute(delete(KnownAddress).where(KnownAddress.last_login_at <= now - KNOWN_KEPT))


def _places(address: str | None, browsers: Sequence[str], secret: str) -> Iterator[tuple[PlaceKind, str]]:
    if found := network(address):
        yield PlaceKind.ADDRESS, _hash(secret, f"shared address {found}")
    for number in dict.fromkeys(browsers):
        yield PlaceKind.BROWSER, _hash(secret, f"shared browser {number}")


def _hash(secret: str, text: str) -> str:
    return hmac.digest(secret.encode(), text.encode(), hashlib.sha256).hex()


def is_known_address(session: Session, *, user_id: int, address_hash: str, now: datetime) -> bool:
    """Return whether a person has logged in from an address and not too long ago."""
    known = (
        (KnownAddress.user_id == user_id)
        & (KnownAddress.address_hash == address_hash)
        & (KnownAddress.last_login_at > now - KNOWN_KEPT)
    )
    return bool(session.scalar(select(exists().where(known))))


def note_known_address(session: Session, *, user: User, address_hash: str, now: datetime) -> None:
    """Keep the address of a login; of many addresses the newest stay."""
    counting.hold_lock(session, f"known addresses of {user.id}")
    mine = select(KnownAddress).where(KnownAddress.user_id == user.id)
    found = session.scalar(mine.where(KnownAddress.address_hash == address_hash))
    if found is None:
        session.add(KnownAddress(user_id=user.id, address_hash=address_hash, last_login_at=now))
    else:
        found.last_login_at = now
    session.flush()
    newest_first = mine.order_by(KnownAddress.last_login_at.desc(), KnownAddress.id.desc())
    for surplus in session.scalars(newest_first.offset(MOST_KNOWN)):
        session.delete(surplus)
    session.flush()


def forget_known_addresses(session: Session, *, user: User) -> None:
    """Forget all addresses of a person, after a new password: the old one may have been shared."""
    session.execute(delete(KnownAddress).where(KnownAddress.user_id == user.id))

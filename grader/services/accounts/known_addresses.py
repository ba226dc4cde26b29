"""IP addresses from which a person has logged in before; they keep a budget of their own for guesses."""

from datetime import datetime, timedelta

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from grader.models import KnownAddress, User
from grader.services.counting import named_locks

KEPT = timedelta(days=90)
MOST = 20  # of one person


def is_known(session: Session, *, user_id: int, address_hash: str, now: datetime) -> bool:
    """Return whether a person has logged in from an address and not too long ago."""
    known = (
        (KnownAddress.user_id == user_id)
        & (KnownAddress.address_hash == address_hash)
        & (KnownAddress.last_login_at > now - KEPT)
    )
    return bool(session.scalar(select(exists().where(known))))


def note(session: Session, *, user: User, address_hash: str, now: datetime) -> None:
    """Keep the address of a login; of many addresses the newest stay."""
    named_locks.hold(session, f"known addresses of {user.id}")
    mine = select(KnownAddress).where(KnownAddress.user_id == user.id)
    found = session.scalar(mine.where(KnownAddress.address_hash == address_hash))
    if found is None:
        session.add(KnownAddress(user_id=user.id, address_hash=address_hash, last_login_at=now))
    else:
        found.last_login_at = now
    session.flush()
    newest_first = mine.order_by(KnownAddress.last_login_at.desc(), KnownAddress.id.desc())
    for surplus in session.scalars(newest_first.offset(MOST)):
        session.delete(surplus)
    session.flush()


def forget(session: Session, *, user: User) -> None:
    """Forget all addresses of a person, after a new password: the old one may have been shared."""
    session.execute(delete(KnownAddress).where(KnownAddress.user_id == user.id))


def has_old(session: Session, *, now: datetime) -> bool:
    """Return whether `forget_old` would delete something."""
    old = select(KnownAddress.id).where(KnownAddress.last_login_at <= now - KEPT)
    return session.scalar(old.limit(1)) is not None


def forget_old(session: Session, *, now: datetime) -> None:
    """Forget addresses from which nobody has logged in for long."""
    session.execute(delete(KnownAddress).where(KnownAddress.last_login_at <= now - KEPT))

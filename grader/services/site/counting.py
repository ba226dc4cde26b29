"""Rate-limit counters in the database, and named database locks.

Before counting, callers must hold a lock: `hold_lock` or the lock of the competition.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from grader.models import Tally
from grader.text import counted

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
KEPT = DAY


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The maximum number of actions within a period of at most `KEPT`."""

    count: int
    within: timedelta

    @property
    def period(self) -> str:
        """The period in words."""
        return {MINUTE: "a minute", HOUR: "an hour", DAY: "a day"}[self.within]


def free_at(
    session: Session, *, kind: str, whose: str, limits: Sequence[RateLimit], now: datetime
) -> tuple[RateLimit, datetime] | None:
    """Return the exceeded limit that ends last and its end, or None if no limit is exceeded."""
    reached = []
    for limit in limits:
        # The limit ends when the oldest action that counts (the `limit.count`-th newest) leaves the window.
        at = session.scalar(
            select(Tally.at)
            .where(Tally.kind == kind, Tally.whose == whose, Tally.at > now - limit.within)
            .order_by(Tally.at.desc())
            .offset(limit.count - 1)
            .limit(1)
        )
        if at is not None:
            reached.append((limit, at + limit.within))
    return max(reached, key=lambda each: each[1], default=None)


def add(session: Session, *, kind: str, whose: str, now: datetime) -> int:
    """Count an action and return its id for `take_back`."""
    tally = Tally(kind=kind, whose=whose, at=now)
    session.add(tally)
    session.flush()
    return tally.id


def add_within(
    session: Session, *, kind: str, whose: str, limits: Sequence[RateLimit], now: datetime
) -> tuple[RateLimit, datetime] | None:
    """Lock the counter and count an action unless a limit is reached; the result is that of `free_at`."""
    hold_lock(session, f"{kind} {whose}")
    reached = free_at(session, kind=kind, whose=whose, limits=limits, now=now)
    if reached is None:
        add(session, kind=kind, whose=whose, now=now)
    return reached


def take_back(session: Session, *, ids: Sequence[int]) -> None:
    """Delete counted actions."""
    session.execute(delete(Tally).where(Tally.id.in_(ids)))


def when(moment: datetime, now: datetime) -> str:
    """Return a text with the remaining time until `moment` and the time itself."""
    minutes = max(1, math.ceil((moment - now) / MINUTE))
    left = counted(minutes, "minute") if minutes < 120 else counted(math.ceil(minutes / 60), "hour")
    return f"in {left}, at {moment:%-d %b, %H:%M:%S} UTC"


def is_old(now: datetime) -> ColumnElement[bool]:
    """Return the condition for actions that are too old to affect any limit."""
    return Tally.at <= now - KEPT


def hold_lock(session: Session, name: str) -> None:
    """Hold a named lock until the transaction ends.

    SQLite needs no lock, because it allows only one write transaction at a time.
    """
    session.connection()  # starts the transaction
    if session.get_bind().dialect.name == "postgresql":
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
        session.execute(select(func.pg_advisory_xact_lock(number)))

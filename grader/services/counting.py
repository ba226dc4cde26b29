"""Rate-limit counters in the database, and database locks by name.

Callers must hold the lock of what they count (`hold_lock`, or the competition's) before counting.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from grader.models import Tally

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
KEPT = DAY


@dataclass(frozen=True, slots=True)
class Limit:
    """A number of acts within a time of at most `KEPT`."""

    count: int
    within: timedelta

    @property
    def period(self) -> str:
        """The time in words."""
        return {MINUTE: "a minute", HOUR: "an hour", DAY: "a day"}[self.within]


def free_at(
    session: Session, *, kind: str, whose: str, limits: Sequence[Limit], now: datetime
) -> tuple[Limit, datetime] | None:
    """Return the reached limit that ends last, and its end; None if no limit is reached."""
    found = []
    for limit in limits:
        # The count-th newest must leave the window.
        at = session.scalar(
            select(Tally.at)
            .where(Tally.kind == kind, Tally.whose == whose, Tally.at > now - limit.within)
            .order_by(Tally.at.desc())
            .offset(limit.count - 1)
            .limit(1)
        )
        if at is not None:
            found.append((limit, at + limit.within))
    return max(found, key=lambda each: each[1], default=None)


def add(session: Session, *, kind: str, whose: str, now: datetime) -> int:
    """Count once and return the id for `take_back`."""
    tally = Tally(kind=kind, whose=whose, at=now)
    session.add(tally)
    session.flush()
    return tally.id


def add_within(
    session: Session, *, kind: str, whose: str, limits: Sequence[Limit], now: datetime
) -> tuple[Limit, datetime] | None:
    """Lock the counter and count once; count nothing and return `free_at` where a limit is reached."""
    hold_lock(session, f"{kind} {whose}")
    reached = free_at(session, kind=kind, whose=whose, limits=limits, now=now)
    if reached is None:
        add(session, kind=kind, whose=whose, now=now)
    return reached


def take_back(session: Session, *, ids: Sequence[int]) -> None:
    """Delete counts."""
    session.execute(delete(Tally).where(Tally.id.in_(ids)))


def when(moment: datetime, now: datetime) -> str:
    """Return the time until a moment and the moment, in words."""
    left = max(1, math.ceil((moment - now).total_seconds()))
    if left < 120:
        return f"in {left} second{'s' if left > 1 else ''}"
    day = "" if moment.date() == now.date() else f"{moment:%Y-%m-%d} "
    minutes = math.ceil(left / 60)
    about = f"{minutes} minutes" if minutes < 120 else f"{math.ceil(minutes / 60)} hours"
    return f"in {about}, at {day}{moment:%H:%M:%S} UTC"


def is_old(now: datetime) -> ColumnElement[bool]:
    """Return the condition for counts that are too old for any limit."""
    return Tally.at <= now - KEPT


def hold_lock(session: Session, name: str) -> None:
    """Hold a lock by name until the transaction ends; SQLite has one write transaction at a time."""
    session.connection()  # begins it
    if session.get_bind().dialect.name == "postgresql":
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
        session.execute(select(func.pg_advisory_xact_lock(number)))

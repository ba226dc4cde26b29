"""When a login or an API token was used last: written at most every five minutes."""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from grader.models import ApiToken, Login

INTERVAL = timedelta(minutes=5)


def needs_touch(used: Login | ApiToken, *, now: datetime) -> bool:
    """Tell whether the time of last use is old enough to be written again."""
    return used.last_used_at is None or now - used.last_used_at >= INTERVAL


def touch(session: Session, *, used: Login | ApiToken, now: datetime) -> None:
    """Write the time of last use, unless it was written in the last five minutes."""
    stored = session.get(Login, used.id) if isinstance(used, Login) else session.get(ApiToken, used.id)
    if stored is not None and needs_touch(stored, now=now):
        stored.last_used_at = now
        session.flush()

"""Database locks by name, for rate limits without a row to lock."""

import hashlib

from sqlalchemy import func, select
from sqlalchemy.orm import Session


def hold(session: Session, name: str) -> None:
    """Wait until no other transaction holds this name; a write transaction of SQLite excludes all others."""
    session.connection()  # begins it
    if session.get_bind().dialect.name == "postgresql":
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
        session.execute(select(func.pg_advisory_xact_lock(number)))

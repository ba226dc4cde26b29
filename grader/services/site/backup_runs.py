"""Backup runs: lock, schedule, results, e-mails about failures."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, func, select, text, true, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from grader.db import Database
from grader.errors import OrganizerError
from grader.models import BackupRun, User
from grader.services.site import letters, outbox
from grader.text import one_line

RETRY_AFTER = timedelta(minutes=15)
KEPT = timedelta(days=400)
ERROR_MAX_LENGTH = 500
ENDED_EARLY = "The process ended before the backup was complete."
IS_OPEN = BackupRun.ended_at.is_(None)
IS_COMPLETE = ~IS_OPEN & BackupRun.error.is_(None)

_ADVISORY_LOCK = 7777_0003


class BackupInProgress(OrganizerError):
    """Another process is making a backup."""

    public_name = "backup_in_progress"
    message = "Another backup is in progress. Try again when it has ended."


class BackupStatus(NamedTuple):
    """The last complete backup, the failed runs since then, and the run that has not ended."""

    last: BackupRun | None
    failures: list[BackupRun]
    unfinished: BackupRun | None


@contextmanager
def locked(database: Database, data_dir: Path) -> Iterator[None]:
    """Exclude other backups until the block or the process ends; raise BackupInProgress."""
    with ExitStack() as held:
        if database.engine.dialect.name == "sqlite":
            folder = os.open(data_dir, os.O_RDONLY)
            held.callback(os.close, folder)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BackupInProgress from None
        else:
            connection = held.enter_context(database.engine.connect())
            held.callback(_release, connection)
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
            # PgBouncer supports only locks that end with their transaction.
            if not connection.scalar(select(func.pg_try_advisory_xact_lock(_ADVISORY_LOCK))):
                raise BackupInProgress
        yield


def _release(connection: Connection) -> None:
    """End the transaction with the lock, unless a restart of the server has ended it during the backup."""
    with suppress(DBAPIError):
        connection.rollback()


def status(session: Session, *, target: str | None = None) -> BackupStatus:
    """Return the state of the backups in one target or all."""
    last = last_success(session, target)
    later = select(BackupRun).where(_is_in(target), BackupRun.id > (last.id if last else 0))
    runs = session.scalars(later.order_by(BackupRun.id)).all()
    return BackupStatus(
        last,
        failures=[each for each in runs if each.ended_at],
        unfinished=next((each for each in runs if not each.ended_at), None),
    )


def last_success(session: Session, target: str | None = None) -> BackupRun | None:
    """Return the newest complete backup in one target or all, or None if there is none."""
    query = select(BackupRun).where(IS_COMPLETE, _is_in(target)).order_by(BackupRun.id.desc())
    return session.scalar(query.limit(1))


def _is_in(target: str | None) -> ColumnElement[bool]:
    return true() if target is None else BackupRun.target == target


def is_due(session: Session, *, target: str, interval: timedelta, now: datetime) -> bool:
    """Return whether the next scheduled backup should start; a missed one is due immediately.

    A run that failed or has not ended delays the next one.
    """
    since = func.coalesce(BackupRun.ended_at, BackupRun.started_at)
    unsuccessful = select(BackupRun.id).where(
        _is_in(target), ~IS_COMPLETE, since > now - min(RETRY_AFTER, interval)
    )
    if session.scalar(unsuccessful.limit(1)) is not None:
        return False
    last = last_success(session, target)
    return last is None or last.started_at <= now - interval


def begin(session: Session, *, target: str, now: datetime) -> BackupRun:
    """Start a run; callers hold the lock, so the process of an earlier open run has been killed."""
    session.execute(update(BackupRun).where(IS_OPEN).values(ended_at=now, error=ENDED_EARLY))
    session.execute(delete(BackupRun).where(BackupRun.started_at <= now - KEPT))
    run = BackupRun(target=target, started_at=now)
    session.add(run)
    session.flush()
    return run


def succeed(session: Session, *, run_id: int, now: datetime) -> None:
    """Record a complete backup."""
    session.get_one(BackupRun, run_id).ended_at = now
    session.flush()


def fail(session: Session, *, run_id: int, error: str, is_scheduled: bool, now: datetime) -> None:
    """Record a failure; e-mail administrators about the first scheduled one since the last success."""
    run = session.get_one(BackupRun, run_id)
    run.ended_at, run.error = now, one_line(error, ERROR_MAX_LENGTH)
    session.flush()
    if not is_scheduled:
        return
    last = last_success(session, run.target)
    values = {"error": run.error, "target": run.target, "last": last and last.started_at}
    administrators = select(User).where(
        User.is_admin, User.deleted_at.is_(None), User.email.is_not(None), User.email_verified_at.is_not(None)
    )
    for user in session.scalars(administrators):
        outbox.write(
            session,
            to_address=user.email or "",
            subject=letters.subject("backup-failed"),
            body=letters.body("backup-failed", user=user, **values),
            now=now,
            key=f"{user.id}:backup:{last.id if last else 0}",
            user=user,
        )


def end_restored(session: Session, *, made_at: datetime) -> None:
    """In restored tables, record the backup that contains them as complete."""
    session.execute(update(BackupRun).where(IS_OPEN).values(ended_at=made_at))

"""Backup runs: lock, schedule, results, e-mails about failures."""

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import and_, delete, or_, select, update
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerError, OrganizerRefusal
from grader.models import BackupRun, User
from grader.services.site import counting, letters, outbox
from grader.text import one_line

LEASE = timedelta(minutes=15)  # renewed after each object that is copied
RETRY_AFTER = timedelta(minutes=15)
KEPT = timedelta(days=400)
ERROR_MAX_LENGTH = 500
ENDED_EARLY = "The process ended before the backup was complete."


class BackupInProgress(OrganizerError):
    """Another process is making a backup."""

    public_name = "backup_in_progress"
    message = (
        "Another backup is in progress; it started at {started_at:%-d %b %Y, %H:%M:%S} UTC. If its process "
        "was killed, try again at {free_at:%H:%M:%S} UTC."
    )


class BackupStatus(NamedTuple):
    """The last complete backup, the failed runs since then, and whether a run is in progress."""

    last: BackupRun | None
    failures: list[BackupRun]
    is_running: bool


def status(session: Session, *, now: datetime, target: str | None = None) -> BackupStatus:
    """Return the state of the backups in one target or all."""
    last = last_success(session, target)
    later = select(BackupRun).where(BackupRun.id > (last.id if last else 0)).order_by(BackupRun.id)
    runs = session.scalars(later).all()
    return BackupStatus(
        last,
        failures=[each for each in runs if each.error is not None and target in (None, each.target)],
        is_running=any(each.ended_at is None and each.lease_until > now for each in runs),
    )


def last_success(session: Session, target: str | None = None) -> BackupRun | None:
    """Return the newest complete backup in one target or all, or None if there is none."""
    query = select(BackupRun).where(BackupRun.name.is_not(None)).order_by(BackupRun.id.desc()).limit(1)
    return session.scalar(query if target is None else query.where(BackupRun.target == target))


def is_due(session: Session, *, target: str, interval: timedelta, now: datetime) -> bool:
    """Return whether the next scheduled backup should start; a missed one is due immediately."""
    is_running = and_(BackupRun.ended_at.is_(None), BackupRun.lease_until > now)
    has_failed = and_(
        BackupRun.target == target,
        BackupRun.error.is_not(None),
        BackupRun.ended_at > now - min(RETRY_AFTER, interval),
    )
    last = last_success(session, target)
    if session.scalar(select(BackupRun.id).where(or_(is_running, has_failed)).limit(1)) is not None:
        return False
    return last is None or last.started_at <= now - interval


def hold_lock(session: Session) -> None:
    """Prevent other runs until the transaction ends; call this before reading the clock."""
    counting.hold_lock(session, "backup")


def begin(session: Session, *, target: str, now: datetime) -> BackupRun:
    """Start a run under the lock; raise BackupInProgress if there is one already."""
    for run in session.scalars(select(BackupRun).where(BackupRun.ended_at.is_(None))):
        if run.lease_until > now:
            raise BackupInProgress(started_at=run.started_at, free_at=run.lease_until)
        run.ended_at, run.error = run.lease_until, ENDED_EARLY
    session.execute(delete(BackupRun).where(BackupRun.started_at <= now - KEPT))
    run = BackupRun(target=target, started_at=now, lease_until=now + LEASE)
    session.add(run)
    session.flush()
    return run


def renew(session: Session, *, run_id: int, now: datetime) -> None:
    """Extend the lease of a run; raise OrganizerRefusal if it has ended."""
    renewed = session.scalar(
        update(BackupRun)
        .where(BackupRun.id == run_id, BackupRun.ended_at.is_(None), BackupRun.lease_until > now)
        .values(lease_until=now + LEASE)
        .returning(BackupRun.id)
        .execution_options(synchronize_session=False)
    )
    if renewed is None:
        message = "The backup was stopped because its lease ended. Start it again."
        raise OrganizerRefusal("backup_lost", ErrorKind.CONFLICT, message)


def succeed(
    session: Session, *, run_id: int, name: str, size_bytes: int, copied_bytes: int, now: datetime
) -> None:
    """Record a complete backup."""
    run = session.get_one(BackupRun, run_id)
    run.ended_at, run.name, run.error = now, name, None
    run.size_bytes, run.copied_bytes = size_bytes, copied_bytes
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


def withdraw(session: Session, *, run_id: int) -> None:
    """Delete an interrupted run, so that the next one can start immediately."""
    session.execute(delete(BackupRun).where(BackupRun.id == run_id))


def end_restored(session: Session, *, made_at: datetime) -> None:
    """In restored tables, record the backup that contains them as complete, and delete interrupted runs."""
    is_open = BackupRun.ended_at.is_(None)
    session.execute(
        update(BackupRun)
        .where(is_open, BackupRun.started_at <= made_at, BackupRun.lease_until > made_at)
        .values(ended_at=made_at, name=f"{made_at:%Y%m%dT%H%M%S%fZ}")
    )
    session.execute(delete(BackupRun).where(is_open))

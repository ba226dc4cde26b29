"""Backup, verification and restore of an installation, and deletion of old backups.

A backup contains the database, the blobs and the settings. Content that the store already has is not copied
again. Secret settings are not included. The cache is not included.
"""

import hashlib
import hmac
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from pydantic import SecretStr
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from grader import db
from grader.crash_points import reach
from grader.db import Database
from grader.errors import ErrorKind, FairboardError, OrganizerRefusal
from grader.maintenance import database_copies, schema
from grader.maintenance.backup_store import Record, Store
from grader.maintenance.database_copies import NotABackup
from grader.models import (
    Competition,
    CompetitionState,
    JobState,
    Mail,
    OrganizerJob,
    Participation,
    ScoringJob,
    Submission,
    SubmissionStatus,
)
from grader.services.site import backup_runs, outbox
from grader.services.site.outbox import GIVEN_UP_AFTER
from grader.settings import PREFIX, Settings
from grader.storage import blobs, disk, stores
from grader.storage.stores import Storage
from grader.text import listed

UPGRADES_FOLDER = "backups/before-upgrades"  # relative to the data folder
WITHOUT_KEY = (
    "Without it, authenticator apps stop working, and corrected solutions that have no Usage column are "
    "split differently."
)
WHY_NOT_SENT = "Not sent after a restore because it may have been sent before."

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class NewBackup:
    """A new backup; `copied` bytes were not yet in the store, and `unusable` blobs are missing or damaged."""

    record: Record
    copied: int
    unusable: set[str]


def open_backup(target: str, *, name: str | None = None) -> tuple[Store, Record]:
    """Return the store and the newest or the named backup of a target; raise NotABackup."""
    store = Store(target)
    records, problems = store.records()
    chosen = [record for record in records if name in (None, record.name)]
    if not chosen:
        what = f"no complete backup named {name}" if name else "no complete backup"
        raise NotABackup(" ".join([f"{target} contains {what}.", *problems]))
    return store, chosen[-1]


def run(settings: Settings, database: Database, storage: Storage, *, target: str) -> NewBackup:
    """Make a backup and record its result; in the configured target, delete old backups.

    Raises BackupInProgress or any error of `make`.
    """
    is_scheduled = target == settings.backup_target
    with backup_runs.locked(database, settings.data_dir):
        with database.write() as session:
            run_id = backup_runs.begin(session, target=target, now=db.now(session)).id
        reach("backup.after_begin")
        try:
            store = Store(target)
            backup = make(settings, database, storage, store)
            if is_scheduled:
                prune(store, keep=timedelta(days=settings.backup_keep_days), now=backup.record.made_at)
        except Exception as error:
            with database.write() as session:
                reason, now = _reason(error), db.now(session)
                backup_runs.fail(session, run_id=run_id, error=reason, is_scheduled=is_scheduled, now=now)
            raise
        with database.write() as session:
            backup_runs.succeed(session, run_id=run_id, now=db.now(session))
    logger.info("Backup %s is complete: %s bytes were copied.", backup.record.name, f"{backup.copied:,}")
    return backup


def make(settings: Settings, database: Database, storage: Storage | None, store: Store) -> NewBackup:
    """Add a backup to a store, even while the service runs; if `storage` is None, omit blobs.

    Raises OrganizerRefusal.
    """
    revision = schema.current(database)
    if revision is None:
        raise _cannot_back_up("There is nothing to back up: the database has no tables.")
    if stores.contains(settings.storage(), store.target):
        raise _cannot_back_up(f"The target {store.target} is in the blob storage. Choose another one.")
    if store.folder is not None and disk.is_short(settings):
        raise _cannot_back_up(
            "There is too little disk space. Run `fairboard doctor` to see which files you can delete."
        )
    store.prepare()
    present = store.usable()
    named: set[str] = set()
    with database.read() as session:  # a single snapshot
        made_at = db.now(session).astimezone(UTC)
        tables = database_copies.copy_out(session.connection(), store.objects, present)
        if storage is not None:  # Otherwise, the tables may have an older schema.
            named = blobs.named(session)
    reach("backup.after_tables")
    sizes = {name: present[name] for name in named & present.keys()}
    if storage is not None:
        sizes |= stores.copy(storage, store.objects, sorted(named - sizes.keys()))
    record = Record(
        name=f"{made_at:%Y%m%dT%H%M%S%fZ}",
        made_at=made_at,
        fairboard=version("fairboard"),
        revision=revision,
        tables=tables,
        blobs=sizes,
        settings=settings.model_dump(mode="json", exclude_defaults=True),
        secret_key_mark=mark(settings),
    )
    if unusable := named - sizes.keys():
        with database.read() as session:  # others are optional, or were deleted after the snapshot
            unusable &= blobs.required(session)
    reach("backup.before_record")
    if damage := record.damage(store.sizes()):
        raise _cannot_back_up(f"{len(damage):,} objects disappeared from the store during the backup.")
    store.add_record(record)
    reach("backup.after_record")
    copied = sum(size for name, size in record.objects.items() if name not in present)
    return NewBackup(record, copied, unusable)


def prune(store: Store, *, keep: timedelta, now: datetime) -> None:
    """Delete backups older than `keep` and unneeded objects; always keep the last complete backup.

    A backup in progress fails if its objects are deleted, so callers should hold the lock of backups. If a
    record is unreadable, nothing is deleted, because it may list any object.
    """
    records, problems = store.records()
    if problems:
        logger.error("No old backups were deleted. %s", " ".join(problems))
        return
    present = store.sizes()
    complete = [record for record in records if not record.damage(present)]
    kept = [record for record in records if record in complete[-1:] or record.made_at > now - keep]
    for record in records:
        if record not in kept:
            store.delete_record(record)
            reach("prune.after_record")
    for name in present.keys() - {name for record in kept for name in record.objects}:
        store.objects.delete(name)
        reach("prune.after_object")


def copy_before_upgrade(settings: Settings, database: Database) -> str:
    """Copy the database without blobs, delete old such copies, and return their folder."""
    schema.require_known(schema.current(database))
    store = Store(str(settings.data_dir.absolute() / UPGRADES_FOLDER))
    copy = make(settings, database, None, store).record
    prune(store, keep=timedelta(days=settings.backup_keep_days), now=copy.made_at)
    return store.target


def restore(database: Database, storage: Storage, backup: tuple[Store, Record]) -> int:
    """Fill an empty installation from a backup and upgrade its tables.

    Blobs are restored first, so that no row refers to a missing blob. All rows are committed at once, so an
    interrupted restore can be repeated. Until then, no process accepts the database. Returns the number of
    waiting e-mails, which are not sent because they may have been sent already. Raises NotABackup or
    OrganizerRefusal.
    """
    store, record = backup
    if record.revision not in schema.revisions():
        raise NotABackup(
            f"Fairboard {record.fairboard} made the backup {record.name} with the schema {record.revision}, "
            f"which this version ({version('fairboard')}) does not know. Restore it with that version."
        )
    if not database_copies.is_empty(database):
        raise OrganizerRefusal(
            "cannot_restore",
            ErrorKind.CONFLICT,
            "The database is not empty. Restore into an empty one: move the data folder elsewhere, or set "
            f"{PREFIX}DATA_DIR or {PREFIX}DATABASE_URL.",
        )
    schema.mark_restore(database)
    copied = stores.copy(store.objects, storage, list(record.blobs))
    if lost := record.blobs.keys() - copied.keys():
        raise NotABackup(f"Blobs of the backup are missing or damaged: {listed(sorted(lost))}.")
    with schema.migrating(database) as connection:
        schema.rebuild(connection, record.revision)
        database_copies.fill(connection, record.tables, store.objects)
        schema.upgrade_within(connection)
        with Session(connection) as session:
            count = _adapt(session, record.made_at)
        reach("restore.before_commit")
    return count


def verify(backup: tuple[Store, Record]) -> list[str]:
    """Compare each file with its hash and the number of rows of each table; return the problems."""
    store, record = backup
    problems = []
    for name, copy in record.tables.items():
        try:
            for _ in database_copies.parts(store.objects, name, copy):
                pass
        except NotABackup as error:
            problems.append(error.message)
    lost = [sha256 for sha256 in record.blobs if not stores.is_intact(store.objects, sha256)]
    return problems + [f"Blob {sha256} is missing or damaged." for sha256 in lost]


def _adapt(session: Session, made_at: datetime) -> int:
    """Free claims, end the run of the backup, and mark waiting e-mails as sent; return their number.

    E-mails about results of submissions that were pending at `made_at`, and about later reveals, are marked,
    too, so that no user receives them twice.
    """
    now = db.now(session)
    for jobs in (ScoringJob, OrganizerJob):  # their workers belong to another installation
        freed = {"lease_until": now, "attempt_count": jobs.attempt_count - 1}
        session.execute(update(jobs).where(jobs.state == JobState.CLAIMED).values(freed))
    backup_runs.end_restored(session, made_at=made_at)
    is_waiting = Mail.sent_at.is_(None), Mail.created_at > now - GIVEN_UP_AFTER
    count = session.scalar(select(func.count(Mail.id)).where(*is_waiting)) or 0
    for key in list(_keys_since(session, made_at, now)):
        outbox.write(session, to_address="", subject="", body="", now=now, key=key)
    session.execute(update(Mail).where(*is_waiting).values(sent_at=now, error=WHY_NOT_SENT))
    return count


def _keys_since(session: Session, made_at: datetime, now: datetime) -> Iterator[str]:
    """Yield the keys of the e-mails that have probably been sent since the backup."""
    pending = select(Submission.user_id, Submission.id).where(Submission.status == SubmissionStatus.PENDING)
    for user_id, submission_id in session.execute(pending):
        for status in (SubmissionStatus.SCORED, SubmissionStatus.REJECTED, SubmissionStatus.FAILED):
            yield f"{user_id}:{status.value}:{submission_id}"
    due = select(Participation.user_id, Competition.id).where(
        Participation.competition_id == Competition.id,
        Competition.state == CompetitionState.PUBLISHED,
        Competition.reveals_at <= now,
        Competition.reveals_at > made_at,
    )
    for user_id, competition_id in session.execute(due):
        yield f"{user_id}:results:{competition_id}"


def place_of_key(settings: Settings) -> str:
    """Return the location of an installation's secret key."""
    if settings.secret_key is not None:
        return f"{PREFIX}SECRET_KEY"
    return f"the file {settings.data_dir.absolute() / 'secret_key'}"


def needed_secrets(settings: Settings) -> list[str]:
    """Return a description of each secret that a restored installation needs."""
    needed = [f"the secret key, {place_of_key(settings)}. {WITHOUT_KEY}"]
    for name, value in settings:
        if isinstance(value, SecretStr) and name not in ("secret_key", "admin_password"):
            needed.append(f"{PREFIX}{name.upper()}.")
    if settings.storage().startswith("s3:"):
        needed.append("the AWS_* variables for the bucket.")
    return needed


def _reason(error: Exception) -> str:
    if disk.is_full(error):
        return disk.FULL
    return error.message if isinstance(error, FairboardError) else f"{type(error).__name__}: {error}"


def _cannot_back_up(message: str) -> OrganizerRefusal:
    return OrganizerRefusal("cannot_back_up", ErrorKind.CONFLICT, message)


def mark(settings: Settings) -> str:
    """Return a mark of the secret key, which does not reveal it."""
    return hmac.new(settings.secret().encode(), b"mark of a backup", hashlib.sha256).hexdigest()[:16]

"""Backup, verification and restore of an installation, and deletion of old backups.

A backup contains the database, the blobs and the settings. Content that the store already has is not copied
again. Secret settings are not included. The cache is not included.
"""

import hashlib
import hmac
import io
import logging
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from pydantic import SecretStr
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from grader import db
from grader.crash_points import reach
from grader.db import Database
from grader.errors import ErrorKind, FairboardError, OrganizerRefusal
from grader.maintenance import database_copies, schema
from grader.maintenance.backup_store import NotABackup, Record, Store, is_in_storage
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
from grader.services.site import backup_runs
from grader.services.site.outbox import GIVEN_UP_AFTER
from grader.settings import PREFIX, Settings
from grader.storage import blobs, disk
from grader.storage.stores import BlobDamaged, BlobMissing, Storage

AUTOMATIC_FOLDER = "backups"  # relative to the data folder
KEPT_COPIES = 2  # of those before upgrades
SCRATCH = "backup-scratch-"  # temporary folder in the data folder
WITHOUT_KEY = (
    "Without it, authenticator apps stop working, and corrected solutions that have no Usage column are "
    "split differently."
)
WHY_NOT_SENT = "Not sent after a restore because it may have been sent before."
BATCH = 1000
BLOBS_AT_A_TIME = 8

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class NewBackup:
    """A new backup; `copied` bytes were not yet in the store, and `unusable` blobs are missing or damaged."""

    record: Record
    copied: int
    unusable: list[str]


class _Writer:
    """Adds content to a store unless the store already has it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._present = store.sizes()
        # A file that was truncated later has another size than in the record.
        self._sizes = {name: size for record in store.records()[0] for name, size in record.objects.items()}
        self._counting = threading.Lock()
        self.copied = 0

    def add(self, sha256: str, open_source: Callable[[], IO[bytes] | io.FileIO]) -> int:
        """Store content with this hash; return its size; raise BlobMissing or BlobDamaged."""
        size = self._present.get(sha256)
        if size is None or self._sizes.get(sha256, size) != size:
            with open_source() as source:
                stored = self._store.objects.put(source)
            if stored.sha256 != sha256:
                raise BlobDamaged(sha256)
            size = stored.size
            with self._counting:
                self.copied += size
            reach("backup.after_object")
        return size


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
    if is_in_storage(settings, store.target):
        raise _cannot_back_up(f"The target {store.target} is in the blob storage. Choose another one.")
    if disk.is_short(settings, wanted_bytes=database_copies.size_bytes(database)):
        advice = "Run `fairboard doctor` to see which files you can delete."
        raise _cannot_back_up(f"There is too little disk space for a copy of the database. {advice}")
    store.prepare()
    writer = _Writer(store)
    with database.read() as session:
        made_at = db.now(session).astimezone(UTC)
    record = Record(
        name=f"{made_at:%Y%m%dT%H%M%S%fZ}",
        made_at=made_at,
        fairboard=version("fairboard"),
        revision=revision,
        tables={},
        blobs={},
        with_blobs=storage is not None,
        settings=_settings_text(settings),
        secret_key_mark=mark(settings),
    )
    named, required = _copy_tables(settings, database, writer, record)
    unusable = []
    if storage is not None:
        missing = _add_blobs(storage, writer, record, sorted(named))
        with database.read() as session:  # some may have been deleted since the snapshot
            unusable = sorted(missing & required & blobs.required(session)) if missing else []
    reach("backup.before_record")
    if damage := record.damage(store.sizes()):
        raise _cannot_back_up(f"{len(damage):,} objects disappeared from the store during the backup.")
    store.add_record(record)
    reach("backup.after_record")
    return NewBackup(record, writer.copied, unusable)


def _copy_tables(
    settings: Settings, database: Database, writer: _Writer, record: Record
) -> tuple[set[str], set[str]]:
    """Copy a snapshot of all tables; return the names of its blobs, and of the required ones."""
    named, required = set[str](), set[str]()
    for left in settings.data_dir.glob(f"{SCRATCH}*"):  # of killed processes
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=settings.data_dir, prefix=SCRATCH) as scratch:
        with database.read() as session:  # a single snapshot
            record.tables = database_copies.copy_out(session.connection(), Path(scratch))
            if record.with_blobs:  # Otherwise, the tables may have an older schema.
                named, required = blobs.named(session), blobs.required(session)
        reach("backup.after_tables")
        for copy in record.tables.values():
            for sha256 in copy.parts:
                writer.add(sha256, partial(io.FileIO, Path(scratch) / sha256))
    return named, required


def _add_blobs(storage: Storage, writer: _Writer, record: Record, names: list[str]) -> set[str]:
    """Add all available blobs, several at a time; return the names of the others."""
    missing: set[str] = set()

    def add(sha256: str) -> int | None:
        try:
            return writer.add(sha256, partial(storage.open, sha256))
        except (BlobMissing, BlobDamaged):
            return None

    with ThreadPoolExecutor(BLOBS_AT_A_TIME) as pool:
        for start in range(0, len(names), BATCH):  # an error cancels the rest of a batch
            batch = names[start : start + BATCH]
            for sha256, size in zip(batch, pool.map(add, batch), strict=True):
                if size is None:
                    missing.add(sha256)
                else:
                    record.blobs[sha256] = size
    return missing


def prune(store: Store, *, keep: timedelta, now: datetime) -> None:
    """Delete backups older than `keep` and unneeded objects; always keep the last complete backup.

    Callers must hold the lock of backups. If a record is unreadable, nothing is deleted, because it may list
    any object.
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


def copy_before_upgrade(settings: Settings, database: Database) -> Path:
    """Copy the database without blobs, delete all but the last such copies, and return the folder."""
    schema.require_known(schema.current(database))
    with database.read() as session:
        name = f"before-{schema.head()}-{db.now(session):%Y%m%dT%H%M%S}"
    copies = settings.data_dir.absolute() / AUTOMATIC_FOLDER
    make(settings, database, None, Store(str(copies / name)))
    for copy in sorted(copies.glob("before-*-*"), key=lambda each: each.name.split("-")[-1])[:-KEPT_COPIES]:
        shutil.rmtree(copy)
    return copies / name


def restore(database: Database, storage: Storage, backup: tuple[Store, Record]) -> int:
    """Fill an empty installation from a backup and upgrade its tables.

    Blobs are restored first, so that no row refers to a missing blob. Waiting e-mails about
    events that have probably happened since the backup are not sent, because they may already have been sent;
    returns their number. All rows are committed at once, so an interrupted restore can be repeated. Until
    then, no process accepts the database. Raises NotABackup or OrganizerRefusal.
    """
    store, record = backup
    if record.revision not in schema.revisions():
        raise NotABackup(
            f"Fairboard {record.fairboard} made the backup {record.name} with the schema {record.revision}, "
            f"which this version ({version('fairboard')}) does not know. Restore it with that version."
        )
    if schema.current(database) is not None and not database_copies.is_empty(database):
        raise OrganizerRefusal(
            "cannot_restore",
            ErrorKind.CONFLICT,
            "The database is not empty. Restore into an empty one: move the data folder elsewhere, or set "
            f"{PREFIX}DATA_DIR or {PREFIX}DATABASE_URL.",
        )
    schema.mark_restore(database)
    for sha256 in record.blobs:
        with _opened(store, sha256) as source:
            if storage.put(source).sha256 != sha256:
                raise NotABackup(f"The backup is damaged: the object {sha256} has changed.")
    with schema.migrating(database) as connection:
        schema.rebuild(connection, record.revision)
        database_copies.fill(connection, record.tables, partial(_verified, store))
        schema.upgrade_within(connection)
        with Session(connection) as session:
            _free_claims(session)
            backup_runs.end_restored(session, made_at=record.made_at)
            held = _hold_mails_back(session, made_at=record.made_at, now=db.now(session))
            session.flush()
        reach("restore.before_commit")
    return held


def verify(backup: tuple[Store, Record]) -> list[str]:
    """Read a whole backup; return the problems.

    Compares each file with its hash and the number of rows of each table with that in the backup.
    """
    store, record = backup
    problems = []
    for name, copy in record.tables.items():
        try:
            count = sum(1 for _ in database_copies.rows_in_parts(copy, partial(_verified, store)))
        except NotABackup as error:
            problems.append(error.message)
        else:
            if count != copy.row_count:
                problems.append(f"The table {name} has {count:,} rows instead of {copy.row_count:,}.")
    for sha256 in record.blobs:
        try:
            _verified(store, sha256).close()
        except NotABackup as error:
            problems.append(error.message)
    return problems


def _verified(store: Store, sha256: str) -> IO[bytes]:
    """Open an object whose bytes match its name; raise NotABackup."""
    file = _opened(store, sha256)
    if database_copies.digest(file) != sha256:
        file.close()
        raise NotABackup(f"The backup is damaged: the object {sha256} has changed.")
    file.seek(0)
    return file


def _opened(store: Store, sha256: str) -> IO[bytes]:
    try:
        return store.objects.open(sha256)
    except BlobMissing:
        raise NotABackup(f"The backup is damaged: the object {sha256} is missing.") from None


def _free_claims(session: Session) -> None:
    """Reset claimed jobs to `waiting`, because their workers belong to another installation."""
    for jobs in (ScoringJob, OrganizerJob):
        session.execute(
            update(jobs)
            .where(jobs.state == JobState.CLAIMED)
            .values(
                state=JobState.WAITING, lease_until=None, token=None, attempt_count=jobs.attempt_count - 1
            )
            .execution_options(synchronize_session=False)
        )


def _hold_mails_back(session: Session, *, made_at: datetime, now: datetime) -> int:
    """Mark waiting e-mails as sent; return their number.

    E-mails about results of submissions that were pending at `made_at`, and about later reveals, are
    marked, too, so that no user receives them twice.
    """
    held = session.scalars(
        update(Mail)
        .where(Mail.sent_at.is_(None), Mail.created_at > now - GIVEN_UP_AFTER)
        .values(sent_at=now, error=WHY_NOT_SENT)
        .returning(Mail.id)
    ).all()
    sent = {"to_address": "", "subject": "", "body": "", "error": WHY_NOT_SENT, "attempt_count": 0}
    sent |= dict.fromkeys(("created_at", "available_at", "sent_at"), now)
    for user_id, event in list(_events_since(session, made_at, now)):
        db.insert_new(session, Mail, sent | {"user_id": user_id, "key": f"{user_id}:{event}"})
    return len(held)


def _events_since(session: Session, made_at: datetime, now: datetime) -> Iterator[tuple[int, str]]:
    """Yield the users, and the events about which they have probably received an e-mail since the backup."""
    pending = select(Submission.user_id, Submission.id).where(Submission.status == SubmissionStatus.PENDING)
    for user_id, submission_id in session.execute(pending):
        for status in (SubmissionStatus.SCORED, SubmissionStatus.REJECTED, SubmissionStatus.FAILED):
            yield user_id, f"{status.value}:{submission_id}"
    due = select(Participation.user_id, Competition.id).where(
        Participation.competition_id == Competition.id,
        Competition.state == CompetitionState.PUBLISHED,
        Competition.reveals_at <= now,
        Competition.reveals_at > made_at,
    )
    for user_id, competition_id in session.execute(due):
        yield user_id, f"results:{competition_id}"


def place_of_key(settings: Settings) -> str:
    """Return the location of an installation's secret key."""
    if settings.secret_key is not None:
        return f"{PREFIX}SECRET_KEY"
    return f"the file {settings.data_dir.absolute() / 'secret_key'}"


def needed_secrets(settings: Settings) -> list[str]:
    """Return a description of each secret that a restored installation needs."""
    needed = [f"the secret key, {place_of_key(settings)}. {WITHOUT_KEY}"]
    for name in type(settings).model_fields:
        if isinstance(getattr(settings, name), SecretStr) and name not in ("secret_key", "admin_password"):
            needed.append(f"{PREFIX}{name.upper()}.")
    if settings.storage().startswith("s3:"):
        needed.append("the AWS_* variables for the bucket.")
    return needed


def _settings_text(settings: Settings) -> str:
    """Return all non-default settings except secrets as environment variables."""
    lines = ["# Settings of the backed-up installation, without secret ones."]
    for name, description in type(settings).model_fields.items():
        value: Any = getattr(settings, name)
        if isinstance(value, SecretStr):
            lines.append(f"# {PREFIX}{name.upper()} was set.")
        elif value is not None and value != description.default:
            lines.append(f"{PREFIX}{name.upper()}={value}")
    return "\n".join(lines) + "\n"


def _reason(error: Exception) -> str:
    if disk.is_full(error):
        return disk.FULL
    return error.message if isinstance(error, FairboardError) else f"{type(error).__name__}: {error}"


def _cannot_back_up(message: str) -> OrganizerRefusal:
    return OrganizerRefusal("cannot_back_up", ErrorKind.CONFLICT, message)


def mark(settings: Settings) -> str:
    """Return a mark of the secret key, which does not reveal it."""
    return hmac.new(settings.secret().encode(), b"mark of a backup", hashlib.sha256).hexdigest()[:16]

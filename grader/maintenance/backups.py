"""Backup, verification and restore of an installation, and deletion of old backups.

A backup contains the database, the blobs and the settings. Content that the store already has is not copied
again. Secret settings are not included, but the backup lists the required ones. The cache is not included.
"""

import hashlib
import hmac
import io
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from pydantic import SecretStr
from sqlalchemy import insert, select, update
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
ANOTHER_FOLDER = (
    "Choose a folder on a larger disk, or free some space: `fairboard doctor` lists files that you can "
    "delete."
)
WITHOUT_BACKUP = (
    "No table was changed. Free some space (`fairboard doctor` lists files that you can delete), or migrate "
    "without a backup: `fairboard migrate --without-backup`."
)
WITHOUT_KEY = (
    "Without it, authenticator apps stop working, and corrected solutions that have no Usage column are "
    "split differently."
)
WHY_NOT_SENT = "Not sent after a restore because it may have been sent before."
BATCH = 1000
BLOBS_AT_A_TIME = 8
RENEW_SECONDS = 20

Tell = Callable[[int, int], None]
Beat = Callable[[], None]

logger = logging.getLogger(__name__)


class BackupInterrupted(Exception):
    """The process was told to stop during a backup."""


@dataclass(frozen=True)
class NewBackup:
    """A new backup; `copied` bytes were not yet in the store, and `unusable` blobs are missing or damaged."""

    record: Record
    copied: int
    unusable: list[str]


@dataclass(frozen=True)
class Restored:
    """The result of a restore; to avoid duplicates, `held_mails` e-mails are not sent."""

    held_mails: int
    has_secret_key: bool


class _Writer:
    """Adds content to a store unless the store already has it."""

    def __init__(self, store: Store, beat: Beat) -> None:
        self._store, self._beat = store, beat
        self._present = store.sizes()
        # A file that was truncated later has another size than in the record.
        self._sizes = {name: size for record in store.records()[0] for name, size in record.objects.items()}
        self._counting = threading.Lock()
        self.copied = 0

    def add(self, sha256: str, open_source: Callable[[], IO[bytes] | io.FileIO]) -> int:
        """Store content with this hash; return its size; raise BlobMissing or BlobDamaged."""
        self._beat()
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


def run(
    settings: Settings,
    database: Database,
    storage: Storage,
    *,
    target: str,
    tell: Tell | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> NewBackup:
    """Make a backup and record its result; in the configured target, delete old backups.

    Raises BackupInProgress, BackupInterrupted or any error of `make`.
    """
    with database.write() as session:
        backup_runs.hold_lock(session)
        run_id = backup_runs.begin(session, target=target, now=db.now(session)).id
    reach("backup.after_begin")
    is_scheduled = target == settings.backup_target
    try:
        with _lease(database, run_id, is_stopped) as beat:
            store = _store(settings, target)
            backup = make(settings, database, storage, store, tell=tell, beat=beat)
            if is_scheduled:
                keep = timedelta(days=settings.backup_keep_days)
                prune(store, keep=keep, now=backup.record.made_at, beat=beat)
    except (BackupInterrupted, KeyboardInterrupt):
        with database.write() as session:
            backup_runs.withdraw(session, run_id=run_id)
        raise
    except Exception as error:
        with database.write() as session:
            reason, now = _reason(error), db.now(session)
            backup_runs.fail(session, run_id=run_id, error=reason, is_scheduled=is_scheduled, now=now)
        raise
    with database.write() as session:
        backup_runs.succeed(
            session,
            run_id=run_id,
            name=backup.record.name,
            size_bytes=backup.record.size,
            copied_bytes=backup.copied,
            now=db.now(session),
        )
    return backup


def run_scheduled(
    settings: Settings, database: Database, storage: Storage, *, is_stopped: Callable[[], bool]
) -> None:
    """Make a scheduled backup unless another process is making one."""
    target = settings.backup_target or ""
    try:
        backup = run(settings, database, storage, target=target, is_stopped=is_stopped)
    except backup_runs.BackupInProgress as error:
        logger.info("No backup was made. %s", error.message)
    except BackupInterrupted:
        logger.info("The backup was interrupted.")
    else:
        logger.info("Backup %s is complete: %s bytes were copied.", backup.record.name, f"{backup.copied:,}")


def make(
    settings: Settings,
    database: Database,
    storage: Storage | None,
    store: Store,
    *,
    tell: Tell | None = None,
    beat: Beat = lambda: None,
) -> NewBackup:
    """Add a backup to a store, even while the service runs; if `storage` is None, omit blobs.

    `beat` is called repeatedly; its errors end the backup. Raises OrganizerRefusal.
    """
    revision = schema.current(database)
    if revision is None:
        raise _cannot_back_up("There is nothing to back up: the database has no tables.")
    for folder in filter(None, (settings.data_dir, store.folder)):
        _require_room(database, folder, advice=ANOTHER_FOLDER)
    store.prepare()
    writer = _Writer(store, beat)
    with database.read() as session:
        made_at = db.now(session).astimezone(UTC)
    record = Record(
        name=f"{made_at:%Y%m%dT%H%M%S%fZ}",
        made_at=made_at,
        fairboard=version("fairboard"),
        revision=revision,
        tables={},
        parts={},
        blobs={},
        with_blobs=storage is not None,
        settings=_settings_text(settings),
        secrets=needed_secrets(settings),
        secret_key_mark=_mark(settings),
    )
    named, required = _copy_tables(settings, database, writer, record)
    unusable = []
    if storage is not None:
        missing = _add_blobs(storage, writer, record, sorted(named), tell)
        with database.read() as session:  # some may have been deleted since the snapshot
            unusable = sorted(missing & required & blobs.required(session)) if missing else []
    beat()
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
    named: set[str] = set()
    required: set[str] = set()

    def look(session: Session) -> None:
        if record.with_blobs:  # Otherwise, the tables may have an older schema.
            named.update(blobs.named(session))
            required.update(blobs.required(session))

    for left in settings.data_dir.glob(f"{SCRATCH}*"):  # of killed processes
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=settings.data_dir, prefix=SCRATCH) as scratch:
        record.tables = database_copies.copy_out(database, Path(scratch), look=look)
        reach("backup.after_tables")
        for copy in record.tables.values():
            for place, part in enumerate(copy.parts):
                path = Path(scratch) / part
                with path.open("rb") as file:
                    copy.parts[place] = sha256 = _digest(file)
                record.parts[sha256] = writer.add(sha256, partial(io.FileIO, path))
    return named, required


def _add_blobs(
    storage: Storage, writer: _Writer, record: Record, names: list[str], tell: Tell | None
) -> set[str]:
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
                if tell is not None:
                    tell(len(record.blobs), len(names) - len(missing))
    return missing


def prune(store: Store, *, keep: timedelta, now: datetime, beat: Beat = lambda: None) -> None:
    """Delete backups older than `keep` and unneeded objects; always keep the last complete backup.

    Callers must hold the lock of a run. If a record is unreadable, nothing is deleted, because it may list
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
            beat()
    for name in present.keys() - {name for record in kept for name in record.objects}:
        store.objects.delete(name)
        reach("prune.after_object")
        beat()


def migrate(settings: Settings, database: Database, *, say: Callable[[str], None]) -> None:
    """Copy the database without blobs, then upgrade it, and delete all but the last copies.

    Raises UnknownTables or OrganizerRefusal.
    """
    before = schema.current(database)
    if before not in (None, schema.head()):
        schema.require_known(before)
        with database.read() as session:
            name = f"before-{schema.head()}-{db.now(session):%Y%m%dT%H%M%S}"
        folder = settings.data_dir.absolute() / AUTOMATIC_FOLDER / name
        _require_room(database, folder, advice=WITHOUT_BACKUP)
        make(settings, database, None, Store(str(folder)))
        say(f"The database has an older schema ({before}). A backup is in {folder}.")
    schema.upgrade(database)
    if before not in (None, schema.head()):
        copies = (settings.data_dir / AUTOMATIC_FOLDER).glob("before-*-*")
        for copy in sorted(copies, key=lambda each: each.name.split("-")[-1])[:-KEPT_COPIES]:
            shutil.rmtree(copy)
        say(f"The database now has the schema of this version ({schema.head()}).")


def restore(
    settings: Settings,
    database: Database,
    storage: Storage,
    backup: tuple[Store, Record],
    *,
    tell: Tell | None = None,
) -> Restored:
    """Fill an empty installation from a backup and upgrade its tables.

    Blobs are restored first, so that no row refers to a missing blob. Waiting e-mails about
    events that have probably happened since the backup are not sent, because they may already have been sent.
    All rows are committed at once, so an interrupted restore can be repeated. Until then, no process accepts
    the database. Raises NotABackup or OrganizerRefusal.
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
    for done, sha256 in enumerate(record.blobs, start=1):
        with _opened(store, sha256) as source:
            if storage.put(source).sha256 != sha256:
                raise NotABackup(f"The backup is damaged: the object {sha256} has changed.")
        if tell is not None:
            tell(done, len(record.blobs))
    with (
        database_copies.filled(
            database,
            revision=record.revision,
            copies=record.tables,
            rows_of=lambda name: database_copies.rows_in_parts(
                record.tables[name], partial(_verified, store)
            ),
        ) as connection,
        Session(connection) as session,
    ):
        _free_claims(session)
        backup_runs.end_restored(session, made_at=record.made_at)
        held = _hold_mails_back(session, made_at=record.made_at, now=db.now(session))
        session.flush()
        reach("restore.before_commit")
    return Restored(held, has_secret_key=_mark(settings) == record.secret_key_mark)


def verify(backup: tuple[Store, Record], *, tell: Tell | None = None) -> list[str]:
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
    for done, sha256 in enumerate(record.blobs, start=1):
        try:
            _verified(store, sha256).close()
        except NotABackup as error:
            problems.append(error.message)
        if tell is not None:
            tell(done, len(record.blobs))
    return problems


def _verified(store: Store, sha256: str) -> IO[bytes]:
    """Open an object whose bytes match its name; raise NotABackup."""
    file = _opened(store, sha256)
    if _digest(file) != sha256:
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
    """Give up waiting e-mails; return their number.

    E-mails about results of submissions that were pending at `made_at`, and about later reveals, are
    marked as sent, so that no user receives them twice.
    """
    waiting = session.scalars(
        select(Mail).where(Mail.sent_at.is_(None), Mail.created_at > now - GIVEN_UP_AFTER)
    )
    count = 0
    for mail in waiting:
        mail.available_at, mail.error = mail.created_at + GIVEN_UP_AFTER, WHY_NOT_SENT
        count += 1
    session.flush()
    sent = {"to_address": "", "subject": "", "body": "", "error": WHY_NOT_SENT, "attempt_count": 0}
    sent |= dict.fromkeys(("created_at", "available_at", "sent_at"), now)
    known = set(session.scalars(select(Mail.key).where(Mail.key.is_not(None))))
    wanted = {*_results(session), *_reveals(session, made_at, now)}
    rows = [sent | {"user_id": user_id, "key": key} for user_id, key in wanted if key not in known]
    if rows:
        session.execute(insert(Mail), rows)
    return count


def _results(session: Session) -> Iterator[tuple[int, str]]:
    pending = select(Submission.user_id, Submission.id).where(Submission.status == SubmissionStatus.PENDING)
    for user_id, submission_id in session.execute(pending):
        for status in (SubmissionStatus.SCORED, SubmissionStatus.REJECTED, SubmissionStatus.FAILED):
            yield user_id, f"{user_id}:{status.value}:{submission_id}"


def _reveals(session: Session, made_at: datetime, now: datetime) -> Iterator[tuple[int, str]]:
    due = select(Participation.user_id, Competition.id).where(
        Participation.competition_id == Competition.id,
        Competition.state == CompetitionState.PUBLISHED,
        Competition.reveals_at.is_not(None),
        Competition.reveals_at <= now,
        Competition.reveals_at > made_at,
    )
    for user_id, competition_id in session.execute(due):
        yield user_id, f"{user_id}:results:{competition_id}"


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


@contextmanager
def _lease(database: Database, run_id: int, is_stopped: Callable[[], bool]) -> Iterator[Beat]:
    """Renew the lease of a run in a thread; yield a function that raises if the run must end."""
    done = threading.Event()
    renewed_at = time.monotonic()

    def renew() -> None:
        nonlocal renewed_at
        with database.write() as session:
            backup_runs.renew(session, run_id=run_id, now=db.now(session))
        renewed_at = time.monotonic()

    def repeat() -> None:
        while not done.wait(RENEW_SECONDS):
            try:
                renew()
            except Exception as error:  # `beat` tries again and raises the error
                logger.warning("The lease of a backup was not renewed: %s", error)

    def beat() -> None:
        if is_stopped():
            raise BackupInterrupted
        if time.monotonic() - renewed_at > 2 * RENEW_SECONDS:
            renew()

    thread = threading.Thread(target=repeat, name="lease of a backup", daemon=True)
    thread.start()
    try:
        yield beat
    finally:
        done.set()
        thread.join()


def _reason(error: Exception) -> str:
    if disk.is_full(error):
        return disk.FULL
    return error.message if isinstance(error, FairboardError) else f"{type(error).__name__}: {error}"


def _store(settings: Settings, target: str) -> Store:
    if is_in_storage(settings, target):
        raise _cannot_back_up(f"The target {target} is in the blob storage. Choose another one.")
    return Store(target)


def _require_room(database: Database, folder: Path, *, advice: str) -> None:
    needed, free = database_copies.size_bytes(database), disk.free_bytes(folder.absolute())
    if free < needed:
        raise _cannot_back_up(
            f"A backup of the database needs up to {needed / 1e6:,.0f} MB, but {folder} has only "
            f"{free / 1e6:,.0f} MB of free space. {advice}"
        )


def _cannot_back_up(message: str) -> OrganizerRefusal:
    return OrganizerRefusal("cannot_back_up", ErrorKind.CONFLICT, message)


def _digest(file: IO[bytes]) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def _mark(settings: Settings) -> str:
    return hmac.new(settings.secret().encode(), b"mark of a backup", hashlib.sha256).hexdigest()[:16]

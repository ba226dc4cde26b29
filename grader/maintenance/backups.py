"""Backup and restore of an installation: database, blobs and settings in one folder.

The manifest `backup.json` is written last, so a folder that contains it is a complete backup. Secrets are not
included, but the manifest lists the required ones. The cache is also not included.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from pydantic import SecretStr
from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from grader import db
from grader.db import Database
from grader.errors import OrganizerError
from grader.maintenance import database_copies, schema
from grader.maintenance.database_copies import Tables
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
from grader.services import webhook_outbox as webhooks
from grader.services.mail.outbox import GIVEN_UP_AFTER
from grader.settings import PREFIX, Settings
from grader.storage import blobs, disk
from grader.storage.stores import BlobMissing, LocalStorage, Storage

FORMAT = 1
AUTOMATIC_FOLDER = "backups"  # relative to the data folder
ANOTHER_FOLDER = (
    "Choose a folder on a larger disk, or free some space: `fairboard doctor` lists files that you can "
    "delete."
)
WITHOUT_BACKUP = (
    "No table was changed. Free some space (`fairboard doctor` lists files that you can delete), or migrate "
    "without a backup: `fairboard migrate --without-backup`."
)
MANIFEST, DATABASE_FOLDER, BLOB_FOLDER, SETTINGS_FILE = "backup.json", "database", "blobs", "settings.env"

WHY_NOT_SENT = "Not sent after a restore because it may have been sent before."
BATCH = 1000

Tell = Callable[[int, int], None]


class NotABackup(OrganizerError):
    """The folder is not a usable backup; the message states the reason."""

    public_name = "not_abackup"


class CannotBackUp(OrganizerError):
    """A backup is not possible; the message states the reason."""

    public_name = "cannot_back_up"


class NoRoomForBackup(CannotBackUp):
    """The disk has too little space for a backup of the database."""

    public_name = "no_room_for_backup"

    def __init__(self, folder: Path, *, needed: int, free: int, advice: str) -> None:
        super().__init__(
            f"A backup of the database needs up to {needed / 1e6:,.0f} MB, but {folder} has only "
            f"{free / 1e6:,.0f} MB of free space. {advice}"
        )


class CannotRestore(OrganizerError):
    """A restore into this installation is not possible; the message states the reason."""

    public_name = "cannot_restore"


@dataclass(frozen=True)
class Manifest:
    """The description of a backup (`backup.json`).

    `files` contains the SHA-256 hash of each database file. `tables` contains the columns of tables that are
    stored in separate files. `unusable_blobs` were already missing or damaged. `secret_key_mark` identifies
    the secret key but does not reveal it.
    """

    made_at: str
    fairboard: str
    revision: str
    database: str
    files: dict[str, str]
    tables: Tables
    with_blobs: bool
    blob_count: int
    blob_bytes: int
    unusable_blobs: list[str]
    secrets: list[str]
    secret_key_mark: str
    format: int = FORMAT

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the manifest of a backup; raise NotABackup."""
        try:
            data = json.loads((folder / MANIFEST).read_text())
        except FileNotFoundError:
            raise NotABackup(f"{folder} is not a complete backup: {MANIFEST} is missing.") from None
        except ValueError as error:
            raise NotABackup(f"{folder / MANIFEST} cannot be read: {error}.") from None
        if data.get("format") != FORMAT or {each.name for each in fields(cls)} != set(data):
            raise NotABackup(
                f"{folder} was created by an incompatible version of Fairboard: {data.get('fairboard')}."
            )
        return cls(**data)


@dataclass(frozen=True)
class Restored:
    """The result of a restore; to avoid duplicates, `held_mails` e-mails are not sent."""

    manifest: Manifest
    held_mails: int
    has_secret_key: bool


@dataclass
class _Copied:
    count: int = 0
    size: int = 0
    unusable: list[str] = field(default_factory=list)


def make(
    settings: Settings, database: Database, storage: Storage | None, folder: Path, *, tell: Tell | None = None
) -> Manifest:
    """Write a backup into a new folder, even while the service runs; if `storage` is None, omit blobs.

    Raises CannotBackUp or DamagedDatabase.
    """
    _require_room(database, folder, advice=ANOTHER_FOLDER)
    revision = schema.current(database)
    if revision is None:
        raise CannotBackUp("There is nothing to back up: the database has no tables.")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / DATABASE_FOLDER).mkdir(mode=0o700)
    except FileExistsError:
        raise CannotBackUp(
            f"{folder} already contains a complete or partial backup. Choose a new folder."
        ) from None
    named: set[str] = set()
    required: set[str] = set()
    with database.read() as session:
        made_at = db.now(session)

    def look(session: Session) -> None:
        # In an automatic backup, which has no storage, the tables may have an older schema.
        if storage is not None:
            named.update(blobs.named(session))
            required.update(blobs.required(session))

    tables = database_copies.copy_out(database, folder / DATABASE_FOLDER, look=look)
    copied = _copy_blobs(storage, folder, named, required, tell) if storage else _Copied()
    (folder / SETTINGS_FILE).write_text(_settings_text(settings))
    manifest = Manifest(
        made_at=made_at.astimezone(UTC).isoformat(timespec="seconds"),
        fairboard=version("fairboard"),
        revision=revision,
        database=database_copies.kind_of(database),
        files={path.name: _sha256(path) for path in sorted((folder / DATABASE_FOLDER).iterdir())},
        tables=tables,
        with_blobs=storage is not None,
        blob_count=copied.count,
        blob_bytes=copied.size,
        unusable_blobs=copied.unusable,
        secrets=needed_secrets(settings),
        secret_key_mark=_mark(settings),
    )
    _write_last(folder, manifest)
    return manifest


def migrate(settings: Settings, database: Database, *, say: Callable[[str], None]) -> None:
    """Back up the database without blobs, then upgrade it; raise UnknownTables or CannotBackUp."""
    before = schema.current(database)
    if before not in (None, schema.head()):
        schema.require_known(before)
        with database.read() as session:
            name = f"before-{schema.head()}-{db.now(session):%Y%m%dT%H%M%S}"
        folder = settings.data_dir.absolute() / AUTOMATIC_FOLDER / name
        _require_room(database, folder, advice=WITHOUT_BACKUP)
        make(settings, database, None, folder)
        say(f"The database has an older schema ({before}). A backup is in {folder}.")
    schema.upgrade(database)
    if before not in (None, schema.head()):
        say(f"The database now has the schema of this version ({schema.head()}).")


def restore(
    settings: Settings, database: Database, storage: Storage, folder: Path, *, tell: Tell | None = None
) -> Restored:
    """Fill an empty installation from a backup and upgrade its tables.

    Blobs are restored first, so that no row refers to a missing blob. Waiting e-mails and notifications about
    events that have probably happened since the backup are not sent, because they may already have been sent.
    Raises NotABackup, CannotRestore or UnknownTables.
    """
    manifest = _checked(folder)
    kind = database_copies.kind_of(database)
    if manifest.database != kind:
        raise CannotRestore(
            f"The backup contains a {manifest.database} database, but the settings specify {kind}."
        )
    if schema.current(database) is not None and not database_copies.is_empty(database):
        raise CannotRestore(
            "The database is not empty. Restore into an empty one: move the data folder elsewhere, or set "
            f"{PREFIX}DATA_DIR or {PREFIX}DATABASE_URL."
        )
    if manifest.with_blobs:
        _restore_blobs(folder, storage, tell)
    database_copies.copy_in(
        database, folder / DATABASE_FOLDER, tables=manifest.tables, revision=manifest.revision
    )
    schema.upgrade(database)
    with database.write() as session:
        _free_claims(session)
        webhooks.give_up_all(session, now=db.now(session))
        held = _hold_mails_back(
            session, made_at=datetime.fromisoformat(manifest.made_at), now=db.now(session)
        )
    return Restored(manifest, held, has_secret_key=_mark(settings) == manifest.secret_key_mark)


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

    Notifications about results of submissions that were pending at `made_at`, and about later reveals, are
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
    known = set(session.scalars(select(Mail.key).where(Mail.key.is_not(None))))
    told = [
        {
            "key": key,
            "user_id": user_id,
            "to_address": "",
            "subject": "",
            "body": "",
            "created_at": now,
            "available_at": now,
            "attempt_count": 0,
            "sent_at": now,
            "error": WHY_NOT_SENT,
        }
        for user_id, key in {*_results(session), *_reveals(session, made_at, now)}
        if key not in known
    ]
    for start in range(0, len(told), BATCH):
        session.execute(insert(Mail), told[start : start + BATCH])
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


def needed_secrets(settings: Settings) -> list[str]:
    """Return a description of each secret that a restored installation needs."""
    key = (
        f"{PREFIX}SECRET_KEY"
        if settings.secret_key is not None
        else f"the file {settings.data_dir.absolute() / 'secret_key'}"
    )
    needed = [
        f"The secret key, {key}. Without it, corrected solutions that have no Usage column are split "
        "differently, and open forms in browsers must be reloaded."
    ]
    for name in type(settings).model_fields:
        if isinstance(getattr(settings, name), SecretStr) and name != "secret_key":
            needed.append(f"{PREFIX}{name.upper()}.")
    if settings.storage().startswith("s3:"):
        needed.append("The AWS_* variables for the bucket.")
    return needed


def _settings_text(settings: Settings) -> str:
    """Return all non-default settings except secrets as environment variables."""
    lines = ["# Settings of the backed-up installation, without secrets."]
    for name, description in type(settings).model_fields.items():
        value: Any = getattr(settings, name)
        if isinstance(value, SecretStr):
            lines.append(f"# {PREFIX}{name.upper()} was set.")
        elif value is not None and value != description.default:
            lines.append(f"{PREFIX}{name.upper()}={value}")
    return "\n".join(lines) + "\n"


def _copy_blobs(
    storage: Storage, folder: Path, names: set[str], required: set[str], tell: Tell | None
) -> _Copied:
    """Copy all available blobs; count missing or damaged blobs as unusable only if they are required."""
    target, copied = LocalStorage(folder / BLOB_FOLDER), _Copied()
    done, total = 0, len(names)
    for sha256 in sorted(names):
        is_usable = False
        try:
            with storage.open(sha256) as source:
                blob = target.put(source)
        except BlobMissing:
            pass
        else:
            is_usable = blob.sha256 == sha256
            if not is_usable:
                target.delete(blob.sha256)
        if is_usable:
            copied.count, copied.size, done = copied.count + 1, copied.size + blob.size, done + 1
        else:
            total -= 1
            if sha256 in required:
                copied.unusable.append(sha256)
        if tell is not None:
            tell(done, total)
    return copied


def _restore_blobs(folder: Path, storage: Storage, tell: Tell | None) -> None:
    kept = LocalStorage(folder / BLOB_FOLDER)
    listed = list(kept.blobs())
    for done, blob in enumerate(listed, start=1):
        with kept.open(blob.sha256) as source:
            if storage.put(source).sha256 != blob.sha256:
                raise NotABackup(f"The backup is damaged: blob {blob.sha256}.")
        if tell is not None:
            tell(done, len(listed))


def _checked(folder: Path) -> Manifest:
    manifest = Manifest.read(folder)
    schema.require_known(manifest.revision)
    damaged = [
        name for name, sha256 in manifest.files.items() if _sha256(folder / DATABASE_FOLDER / name) != sha256
    ]
    if damaged:
        raise NotABackup(f"The backup is damaged: these files have changed: {', '.join(damaged)}.")
    if manifest.with_blobs:
        count = sum(1 for _ in LocalStorage(folder / BLOB_FOLDER).blobs())
        if count != manifest.blob_count:
            raise NotABackup(
                f"The backup is damaged: it contains {count:,} of {manifest.blob_count:,} blobs."
            )
    return manifest


def _require_room(database: Database, folder: Path, *, advice: str) -> None:
    needed, free = database_copies.size_bytes(database), disk.free_bytes(folder.absolute())
    if free < needed:
        raise NoRoomForBackup(folder, needed=needed, free=free, advice=advice)


def _write_last(folder: Path, manifest: Manifest) -> None:
    draft = folder / f"{MANIFEST}.draft"
    draft.write_text(json.dumps(asdict(manifest), indent=1) + "\n")
    for path in (draft, folder / SETTINGS_FILE, folder / DATABASE_FOLDER):
        disk.sync(path)
    draft.replace(folder / MANIFEST)
    disk.sync(folder)


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


def _mark(settings: Settings) -> str:
    return hmac.new(settings.secret().encode(), b"mark of a backup", hashlib.sha256).hexdigest()[:16]

"""What an operator wants to know of an installation: what is well, what will go wrong, what is wrong."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from grader import db, disk
from grader.db import Database
from grader.models import Mail, Submission, SubmissionStatus
from grader.services import blobs, mail, queue_health, schema, scoring
from grader.services.backups import AUTOMATIC_FOLDER
from grader.services.queue_health import Sign
from grader.settings import PREFIX, Settings
from grader.storage import BlobDamaged, BlobMissing, Storage

SHOWN = 5
CLOCK_TOLERANCE = timedelta(seconds=5)
MAIL_PATIENCE = timedelta(hours=1)
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_PROBE = b"What `fairboard doctor` stores to see whether it can.\n"
# Without any of them a crash of the machine may lose what was answered 201.
_DURABILITY = ("fsync", "full_page_writes", "synchronous_commit")


class Level(enum.StrEnum):
    """How urgent a finding is."""

    OK = "ok"
    WARNING = "warning"
    ALARM = "alarm"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and in sentences how it is and what to do."""

    level: Level
    subject: str
    message: str


def of_settings(settings: Settings) -> Iterator[Finding]:
    """Look at settings that work and are not what one wants."""
    if settings.host not in LOOPBACK and not (settings.base_url or "").startswith("https://"):
        yield _warning(
            "settings", f"Others reach the site without TLS: {PREFIX}BASE_URL is no https address."
        )
    for path in (settings.data_dir, settings.data_dir / "secret_key"):
        if path.exists() and path.stat().st_mode & 0o077:
            yield _warning("settings", f"Other users of this machine may read {path}: chmod go= {path}.")
    if not settings.sends_mail():
        yield _ok("settings", "No e-mail is sent: there is no mail server in the settings.")


def of_tables(database: Database) -> Iterator[Finding]:
    """Look at the tables' version, at the database's soundness and promises, and at its clock."""
    current = schema.current(database)
    if current != schema.head():
        yield _alarm(
            "database",
            f"The tables are of another version ({current or 'none'}; this one needs {schema.head()}): "
            "`fairboard migrate`.",
        )
        return
    with database.read() as session:
        is_sqlite = session.get_bind().dialect.name == "sqlite"
        yield from _soundness(session) if is_sqlite else _durability(session)
        ahead = db.now(session) - datetime.now(UTC)
    if abs(ahead) > CLOCK_TOLERANCE:
        yield _warning(
            "clock",
            f"The database's clock differs from this machine's by {ahead.total_seconds():+.0f} s; "
            "deadlines go by the database's.",
        )


def of_blobs(database: Database, storage: Storage, *, read_all: bool) -> Iterator[Finding]:
    """Look whether the storage can be written and has every blob that rows name, read whole if `read_all`."""
    try:
        probe = storage.put(_PROBE)
        storage.read(probe.sha256)
        storage.delete(probe.sha256)
    except Exception as error:  # of whatever store it is
        yield _alarm("storage", f"The storage cannot be used: {error}")
        return
    with database.read() as session:
        required = blobs.required(session)
    listed = list(storage.blobs())
    stored = {blob.sha256 for blob in listed}
    with database.read() as session:
        missing = [blob for blob in blobs.missing(session, stored=stored) if blob.sha256 in required]
        orphans = blobs.orphans(session, listed=listed, now=db.now(session))
    if missing:
        rows = ", ".join(f"{blob.row} ({blob.sha256[:12]}…)" for blob in missing[:SHOWN])
        more = f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
        yield _alarm("storage", f"Rows name blobs that are gone: {rows}{more}. Restore them from a backup.")
    damaged = sorted(_damaged(storage, required & stored)) if read_all else []
    if damaged:
        names = ", ".join(damaged[:SHOWN])
        yield _alarm("storage", f"{len(damaged):,} blobs are damaged: {names}. Restore them from a backup.")
    if not missing and not damaged:
        how = "has and could read" if read_all else "has"
        yield _ok("storage", f"The storage {how} all {len(required):,} blobs that rows name.")
    if orphans:
        size = sum(blob.size for blob in orphans)
        yield _ok("storage", f"{len(orphans):,} blobs ({_mb(size)}) are named by no row and go within a day.")


def of_scoring(session: Session) -> Iterator[Finding]:
    """Look whether anybody scores, and at what has failed."""
    now = db.now(session)
    sign, _, overdue_since = queue_health.sign_of_life(session, now)
    oldest = scoring.oldest_open(session)
    if sign is Sign.STALLED and overdue_since is not None:
        yield _alarm(
            "scoring",
            f"Nobody scores: a job has been free for {_age(now - overdue_since)}. Is a worker or a sweeper "
            "running, and what does its log say?",
        )
    elif oldest is not None:
        yield _ok("scoring", f"The oldest unfinished job exists for {_age(now - oldest)}.")
    else:
        yield _ok("scoring", "Nothing waits.")
    failed = session.scalars(
        select(Submission.id).where(Submission.status == SubmissionStatus.FAILED).order_by(Submission.id)
    ).all()
    if failed:
        named = ", ".join(f"#{each}" for each in failed[:SHOWN])
        yield _warning(
            "scoring",
            f"{len(failed):,} submissions failed by our fault: {named}. Their pages name the incident "
            "that the log explains.",
        )


def of_mail(session: Session) -> Iterator[Finding]:
    """Look at what waits in the outbox and what could not be sent."""
    now = db.now(session)
    count, oldest = session.execute(
        select(func.count(), func.min(Mail.created_at)).where(
            Mail.sent_at.is_(None), Mail.created_at > now - mail.GIVEN_UP_AFTER, Mail.attempt_count > 0
        )
    ).one()
    if count and now - oldest > MAIL_PATIENCE:
        error = session.scalar(
            select(Mail.error).where(Mail.sent_at.is_(None), Mail.error.is_not(None)).order_by(Mail.id.desc())
        )
        yield _warning(
            "e-mail",
            f"{count:,} e-mails could not be sent for up to {_age(now - oldest)}: {error or 'no answer'}.",
        )
    else:
        yield _ok("e-mail", "Nothing is stuck in the outbox.")


def of_disks(settings: Settings) -> Iterator[Finding]:
    """Look at the room on each disk of this machine, and say what could be freed where it is short."""
    reserve = settings.disk_reserve_mb * 1_000_000
    is_short = False
    for folder in disk.folders(settings):
        free = disk.free_bytes(folder)
        what = f"{folder} has {_mb(free)} free; the reserve is {_mb(reserve)}."
        if free < reserve:
            yield _alarm("disk", f"Uploads are refused: {what}")
        elif free < 2 * reserve:
            yield _warning("disk", f"Soon uploads will be refused: {what}")
        else:
            yield _ok("disk", what)
        is_short = is_short or free < 2 * reserve
    if is_short:
        yield from _what_to_free(settings)


def _what_to_free(settings: Settings) -> Iterator[Finding]:
    found = (
        (
            settings.cache(),
            f"everything in it can be deleted; it is computed again. {PREFIX}RANK_CACHE_MB makes it smaller.",
        ),
        (
            settings.data_dir.absolute() / AUTOMATIC_FOLDER,
            "copies of the database from before migrations; delete those that are not needed any more.",
        ),
        *(
            (folder / "drafts", "files that were being stored; those older than a day are left over.")
            for folder in disk.folders(settings)[1:]
        ),
        (settings.data_dir.absolute() / "valkey", "the queue's log; only while the service is stopped."),
    )
    for size, folder, why in sorted(((_size(folder), folder, why) for folder, why in found), reverse=True):
        if size:
            yield _warning("disk", f"To free: {_mb(size)} in {folder}: {why}")
    yield _warning("disk", "To free: blobs that no row names: `fairboard orphans --delete`.")


def _soundness(session: Session) -> Iterator[Finding]:
    finding = session.execute(text("PRAGMA quick_check")).scalar_one()
    if finding == "ok":
        yield _ok("database", "SQLite finds its file sound.")
    else:
        yield _alarm("database", f"SQLite finds its file damaged: {finding}. Restore a backup.")


def _durability(session: Session) -> Iterator[Finding]:
    off = [name for name in _DURABILITY if session.execute(text(f"SHOW {name}")).scalar_one() == "off"]
    if off:
        yield _alarm(
            "database",
            f"PostgreSQL may lose what was accepted when its machine stops: {', '.join(off)} is off.",
        )
    else:
        yield _ok("database", "PostgreSQL keeps what it commits.")


def _damaged(storage: Storage, names: set[str]) -> Iterator[str]:
    for sha256 in names:
        try:
            storage.read(sha256)
        except (BlobDamaged, BlobMissing):
            yield sha256


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _mb(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _age(age: timedelta) -> str:
    return str(timedelta(seconds=round(age.total_seconds())))


def _ok(subject: str, message: str) -> Finding:
    return Finding(Level.OK, subject, message)


def _warning(subject: str, message: str) -> Finding:
    return Finding(Level.WARNING, subject, message)


def _alarm(subject: str, message: str) -> Finding:
    return Finding(Level.ALARM, subject, message)

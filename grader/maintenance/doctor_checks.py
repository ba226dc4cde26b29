"""Checks for `fairboard doctor`: settings, permissions, disks, database, jobs, mail."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from grader import db
from grader.db import Database
from grader.maintenance import schema
from grader.maintenance.backups import UPGRADES_FOLDER
from grader.models import Mail, Submission, SubmissionStatus
from grader.sandbox import layers
from grader.services.site import backup_runs, monitoring
from grader.services.submissions import scoring_jobs as jobs
from grader.services.submissions import scoring_queue
from grader.services.submissions.scoring_queue import HealthSign
from grader.settings import PREFIX, HostMetrics, Settings
from grader.storage import blobs, disk, stores
from grader.storage.stores import Storage
from grader.text import counted, listed, megabytes

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
SHORTEST_SECRET = 32
PATIENCE = timedelta(hours=1)  # with e-mails and backups
# If one of these settings is off, accepted submissions may be lost when the machine crashes.
_DURABILITY = ("fsync", "full_page_writes", "synchronous_commit")


class DoctorFinding(NamedTuple):
    """The result of a check: the current state and, for a problem, the remedy."""

    level: str  # ok, warning or alarm
    subject: str
    message: str


ok = partial(DoctorFinding, "ok")
warning = partial(DoctorFinding, "warning")
alarm = partial(DoctorFinding, "alarm")


def of_settings(settings: Settings) -> Iterator[DoctorFinding]:
    """Check for settings that are valid but inadvisable."""
    if settings.host not in LOOPBACK and not (settings.base_url or "").startswith("https://"):
        yield warning(
            "settings",
            "The site can be reached without TLS. Put a TLS proxy in front of it, set "
            f"{PREFIX}BASE_URL to its https:// address, and set {PREFIX}TRUSTED_PROXIES to 1.",
        )
    key = settings.secret_key.get_secret_value() if settings.secret_key else None
    if key is not None and len(key) < SHORTEST_SECRET:
        yield warning(
            "settings",
            f"The secret key has only {len(key)} characters. Anyone who guesses it can act as any user and "
            "derive which rows are private. Use a longer key (openssl rand -hex 32).",
        )
    if not settings.sends_mail():
        yield ok("settings", "No e-mail is sent because no mail server is configured.")


def of_sandbox(settings: Settings) -> Iterator[DoctorFinding]:
    """Report the active sandbox layers for metrics written by organizers."""
    active = layers()
    if active.refusal and settings.host_metrics is not HostMetrics.OFF:
        yield warning("sandbox", f"{active.refusal} Uploads of such metrics are rejected.")
    else:
        # systemd units and containers may permit fewer layers than a shell on the same machine.
        yield ok("sandbox", f"Active sandbox layers for metrics written in Python: {active}.")


def of_rights(settings: Settings) -> Iterator[DoctorFinding]:
    """Check that other users cannot read the data folder and the secret key."""
    folder = settings.data_dir
    for path in (folder, folder / "secret_key"):
        if path.exists() and path.stat().st_mode & 0o077:
            yield warning("rights", f"Other users of this machine can read {path}. Run: chmod go= {path}")


def of_disks(settings: Settings) -> Iterator[DoctorFinding]:
    """Check the free space of each disk; if there is too little, list deletable files."""
    reserve = settings.disk_reserve_mb * 1_000_000
    advice = (
        f"Uploads need the reserve. You can delete {settings.cache()}, whose files are recomputed, copies of "
        f"the database in {settings.data_dir.absolute() / UPGRADES_FOLDER}, and unreferenced blobs with "
        "`fairboard doctor --delete-orphans`."
    )
    for folder in disk.folders(settings):
        free = disk.free_bytes(folder)
        finding = alarm if free < reserve else warning if free < 2 * reserve else ok
        what = f"{folder} has {megabytes(free)} of free space; the reserve is {megabytes(reserve)}."
        yield finding("disk", what if finding is ok else f"{what} {advice}")


def of_tables(database: Database) -> Iterator[DoctorFinding]:
    """Check the database's schema, integrity and durability; raise database errors."""
    current = schema.current(database)
    if current != schema.head():
        yield alarm("database", schema.difference(current))
        return
    with database.read() as session:
        if session.get_bind().dialect.name == "sqlite":
            result = session.execute(text("PRAGMA quick_check")).scalar_one()
            problem = "" if result == "ok" else f"SQLite found damage: {result}. Restore a backup."
        else:
            off = [name for name in _DURABILITY if session.scalar(text(f"SHOW {name}")) == "off"]
            advice = "PostgreSQL may lose accepted submissions if its machine crashes. Turn on"
            problem = f"{advice} {', '.join(off)} in postgresql.conf." if off else ""
        yield alarm("database", problem) if problem else ok("database", "The database is undamaged.")
    with database.write() as session:  # this fails on a read-only database
        session.execute(text("DELETE FROM alembic_version WHERE version_num = ''"))


def of_storage(storage: Storage) -> Iterator[DoctorFinding]:
    """Check that the storage is writable and readable."""
    if reason := storage.fault():
        yield alarm(
            "storage",
            f"The storage cannot be used, so uploads are rejected and jobs wait: {reason} "
            f"Check its free space, its permissions and its address ({PREFIX}STORAGE_URL).",
        )


def of_blobs(database: Database, storage: Storage, *, read_all: bool) -> Iterator[DoctorFinding]:
    """Check that the storage has all required blobs; with `read_all`, also read them completely."""
    stored, missing = blobs.check(database, storage)
    with database.read() as session:
        required = blobs.required(session)
        orphans = blobs.orphans(session, listed=stored, now=db.now(session))
    read = required.intersection(blob.sha256 for blob in stored) if read_all else set()
    damaged = [sha256 for sha256 in sorted(read) if not stores.is_intact(storage, sha256)]
    advice = "Restore them from a backup."
    if missing:
        rows = listed([f"{blob.row} ({blob.sha256[:12]}…)" for blob in missing])
        yield alarm("storage", f"Rows refer to missing blobs: {rows}. {advice}")
    if damaged:
        yield alarm("storage", f"Blobs are damaged: {listed(damaged)}. {advice}")
    if not missing and not damaged:
        how = ", and all of them are readable" if read_all else ""
        yield ok("storage", f"The storage contains all {len(required):,} required blobs{how}.")
    if orphans:
        size = megabytes(sum(blob.size for blob in orphans))
        what = f"{counted(len(orphans), 'unreferenced blob')} ({size})"
        yield ok("storage", f"Within a day, {what} will be deleted.")


def of_scoring(session: Session) -> Iterator[DoctorFinding]:
    """Check whether submissions are being scored and whether any have failed."""
    now = db.now(session)
    sign, _, overdue_since = scoring_queue.sign_of_life(session, now)
    oldest = jobs.oldest_pending(session)
    if sign is HealthSign.STALLED and overdue_since is not None:
        yield alarm(
            "scoring",
            f"Scoring has stopped: a job has been waiting for {_age(now - overdue_since)}. "
            "Start `fairboard serve`, or the workers and the sweeper. If they are running, read their logs.",
        )
    elif oldest is not None:
        yield ok("scoring", f"The oldest pending submission has been waiting for {_age(now - oldest)}.")
    else:
        yield ok("scoring", "No submission is waiting.")
    failed = session.scalars(
        select(Submission.id)
        .where(Submission.status == SubmissionStatus.FAILED, Submission.incident.is_not(None))
        .order_by(Submission.id)
    ).all()
    if failed:
        yield warning(
            "scoring",
            f"Submissions failed because of a server error: {listed([f'#{each}' for each in failed])}. Their "
            "pages show the incident number; find it in the log. To retry them, open the competition's "
            "Submissions page.",
        )


def of_queues(session: Session) -> DoctorFinding:
    """Report the number of open and failed jobs and e-mails."""
    counts = monitoring.jobs(session)[0] | monitoring.mails(session, db.now(session))[0]
    lines = [f"{queue}: {count:,} {state}" for (queue, state), count in counts.items() if count]
    return ok("queues", f"{'; '.join(lines)}." if lines else "All queues are empty.")


def of_mail(session: Session) -> Iterator[DoctorFinding]:
    """Check the mail outbox for e-mails that could not be sent."""
    now = db.now(session)
    _, oldest = monitoring.mails(session, now)
    if oldest is not None and now - oldest > PATIENCE:
        failed = select(Mail.error).where(Mail.sent_at.is_(None), Mail.error.is_not(None))
        error = session.scalar(failed.order_by(Mail.id.desc())) or "no response"
        yield warning(
            "e-mail",
            f"The oldest unsent e-mail has been waiting for {_age(now - oldest)}: {error}. "
            f"Correct {PREFIX}SMTP_*; the e-mails are then sent automatically.",
        )
    else:
        yield ok("e-mail", "No e-mails are overdue.")


def of_backups(settings: Settings, session: Session) -> Iterator[DoctorFinding]:
    """Check that backups succeed at the scheduled interval."""
    target = settings.backup_target
    now = db.now(session)
    last, failures, unfinished = backup_runs.status(session, target=target)
    state = f"The last backup is {_age(now - last.started_at)} old." if last else "There is no backup."
    newest = unfinished or last
    is_late = newest is None or now - newest.started_at > settings.backup_interval() + PATIENCE
    if failures:
        since = f"{failures[0].started_at:%-d %b %Y, %H:%M} UTC"
        yield alarm("backup", f"Backups have failed since {since}: {failures[-1].error} {state}")
    elif target is None:
        finding = warning if is_late else ok
        yield finding("backup", f"{state} Backups are not scheduled ({PREFIX}BACKUP_TARGET is not set).")
    elif is_late:
        yield alarm("backup", f"{state} The sweeper should make one. Check that it is running.")
    else:
        yield ok("backup", f"{state} A backup is in progress." if unfinished else state)


def _age(age: timedelta) -> str:
    """Return a duration without fractions of seconds, such as `1 day, 3:00:00`."""
    return str(timedelta(seconds=round(age.total_seconds())))

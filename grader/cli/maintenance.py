"""Maintenance commands: backup, restore, migrate, doctor."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import click
from redis.exceptions import RedisError

from grader import build
from grader.cli.configuration import installed_settings
from grader.cli.group import CommandGroup
from grader.cli.installation import failures_in_a_sentence, opened, opened_database, require_database
from grader.cli.output import CommandOutput, table_of
from grader.cli.parameters import json_option
from grader.db import Database
from grader.maintenance import backups, doctor_checks, exporter, schema
from grader.maintenance.backup_store import Store
from grader.maintenance.doctor_checks import DoctorFinding
from grader.settings import PREFIX, Settings, validated_target
from grader.storage import blobs
from grader.storage.stores import Storage, StorageUnavailable, open_storage
from grader.supervisor import lock, valkey
from grader.text import counted

MARKS = {"ok": "ok     ", "warning": "warning", "alarm": "ALARM  "}


def _target_of(_context: Any, _parameter: Any, value: str | None) -> str:
    try:
        target = installed_settings().backup_target if value is None else validated_target(value)
    except ValueError as error:
        raise click.BadParameter(f"{error}.") from error
    if target is None:
        raise click.ClickException(f"Specify a folder or a bucket, or set {PREFIX}BACKUP_TARGET.")
    return target


_target = click.argument("target", callback=_target_of, required=False)
_name = click.option("--backup", "name", help="Name of a backup, from `fairboard backup list`. [newest]")


@click.group(cls=CommandGroup)
def backup() -> None:
    """Back up the installation while the service runs, and list and verify backups.

    \b
    fairboard backup create                           # to FAIRBOARD_BACKUP_TARGET
    fairboard backup create /mnt/backups              # to a folder
    fairboard backup create s3://bucket/prefix        # to a bucket
    fairboard backup verify
    """


@backup.command()
@_target
def create(target: str) -> None:
    """Back up the database, blobs and settings to TARGET.

    The backup is consistent. Only content that is not yet in TARGET is copied. The database in it contains
    labels and password hashes, so protect the backup, for example in an encrypted bucket. Secret settings
    are not included; the command lists those that a restore needs.
    """
    with opened() as here:
        made = backups.run(here.settings, here.database, here.storage, target=target)
    record = made.record
    lines = [
        f"{target}: backup {record.name} with the database as of {record.made_at.isoformat()} and "
        f"{counted(len(record.blobs), 'blob')} ({counted(record.size, 'byte')}, "
        f"{counted(made.copied, 'new byte')}).",
        "Not in the backup, but needed for a restore:",
        *(f"- {sentence}" for sentence in backups.needed_secrets(here.settings)),
    ]
    click.echo("\n".join(lines))
    if made.unusable:
        raise click.ClickException(
            f"{counted(len(made.unusable), 'blob')} in use could not be backed up (missing or damaged). Run "
            "`fairboard doctor` to see the rows that refer to them."
        )


@backup.command("list")
@_target
@json_option
def list_(target: str, as_json: bool) -> None:
    """List the backups in TARGET, oldest first, with missing objects."""
    with failures_in_a_sentence():
        store = Store(target)
        records, problems = store.records()
        present = store.sizes()
    rows: list[dict[str, Any]] = [
        {
            "name": each.name,
            "made_at": each.made_at.isoformat(),
            "bytes": each.size,
            "blobs": len(each.blobs),
            "missing_objects": len(each.damage(present)),
        }
        for each in records
    ]
    lines = table_of(rows, ("name", "bytes", "blobs", "missing_objects"))
    errors = [*([] if rows else [f"{target} contains no backup."]), *problems]
    is_damaged = bool(problems) or any(row["missing_objects"] for row in rows)
    output = CommandOutput({"backups": rows, "problems": problems}, lines, errors, code=int(is_damaged))
    output.show(as_json=as_json)


@backup.command()
@_target
@_name
def verify(target: str, name: str | None) -> None:
    """Verify the hashes of all files in a backup, and the number of rows in each table."""
    with failures_in_a_sentence():
        opened_backup = backups.open_backup(target, name=name)
        problems = backups.verify(opened_backup)
    if problems:
        raise click.ClickException("\n".join(["This backup cannot be restored completely:", *problems]))
    _, record = opened_backup
    click.echo(
        f"The backup as of {record.made_at.isoformat()} is complete: all tables and "
        f"{counted(len(record.blobs), 'blob')} match."
    )


@click.command()
@_target
@_name
def restore(target: str, name: str | None) -> None:
    """Restore a backup of this or an earlier version from TARGET into an empty installation.

    \b
    FAIRBOARD_DATA_DIR=/srv/new fairboard restore /mnt/backups

    The database may be of another kind (SQLite or PostgreSQL) than in the backup. E-mails that were queued
    when the backup was made are not sent, because they may have been sent since.
    """
    settings = installed_settings()
    with opened_database(settings) as database, lock.hold(settings.data_dir.resolve()):
        opened_backup = backups.open_backup(target, name=name)
        storage = open_storage(settings.storage())
        held_mails = backups.restore(database, storage, opened_backup)
    _, record = opened_backup
    lines = [
        f"Restored the state as of {record.made_at.isoformat()}: {counted(len(record.blobs), 'blob')}, "
        f"schema {schema.head()}.",
    ]
    if held_mails:
        lines.append(
            f"Queued e-mails that will not be sent, because they may have been sent already: {held_mails:,}."
        )
    if not record.blobs:
        lines.append("This backup contains no blobs. The configured storage must already contain them.")
    if record.secret_key_mark != backups.mark(settings):
        lines.append(
            "This installation has another secret key than the backed-up one. Before you start the service, "
            f"copy that key into {backups.place_of_key(settings)}. {backups.WITHOUT_KEY}"
        )
    lines.append("Run `fairboard doctor` to check the installation, then start `fairboard serve`.")
    click.echo("\n".join(lines))


@click.command()
@click.option("--read-all", is_flag=True, help="Read every blob in full; by default, blobs are only listed.")
@click.option("--delete-orphans", is_flag=True, help="First delete all blobs that no row refers to.")
@json_option
def doctor(read_all: bool, delete_orphans: bool, as_json: bool) -> None:
    """Diagnose problems with the installation and suggest fixes; exit with code 1 on an alarm.

    Changes nothing on this machine. A bucket is tested with a small object, which is deleted.
    """
    settings = installed_settings()
    if delete_orphans:
        with opened() as here:
            gone = blobs.collect(here.database, here.storage, is_sure=True)
        size = sum(blob.size for blob in gone)
        click.echo(f"Deleted: {counted(len(gone), 'blob')} ({counted(size, 'byte')}).", err=True)
    findings = list(_findings(settings, read_all))
    answer = {"findings": [each._asdict() for each in findings]}
    lines = [f"{MARKS[each.level]}  {each.subject}: {each.message}" for each in findings]
    is_alarming = any(each.level == "alarm" for each in findings)
    CommandOutput(answer, lines, code=int(is_alarming)).show(as_json=as_json)


def _findings(settings: Settings, read_all: bool) -> Iterator[DoctorFinding]:
    if not settings.data_dir.is_dir():
        message = f"The data folder {settings.data_dir.absolute()} does not exist. Correct {PREFIX}DATA_DIR."
        yield doctor_checks.alarm("rights", message)
        return
    yield doctor_checks.ok("version", f"Fairboard {build.describe()}.")
    yield from doctor_checks.of_settings(settings)
    yield from doctor_checks.of_rights(settings)
    yield from doctor_checks.of_disks(settings)
    yield from _of_service(settings)
    yield from _of_arithmetic()
    yield from doctor_checks.of_sandbox(settings)
    storage = open_storage(settings.storage())
    yield from doctor_checks.of_storage(storage)
    try:
        require_database(settings)
        with opened_database(settings) as database:
            yield from _of_database(settings, database, storage, read_all)
    except click.ClickException as error:
        yield doctor_checks.alarm("database", error.message)


def _of_database(
    settings: Settings, database: Database, storage: Storage, read_all: bool
) -> Iterator[DoctorFinding]:
    yield from doctor_checks.of_tables(database)
    if schema.current(database) != schema.head():
        return
    with suppress(StorageUnavailable):  # reported above
        yield from doctor_checks.of_blobs(database, storage, read_all=read_all)
    with database.read() as session:
        yield from doctor_checks.of_scoring(session)
        yield doctor_checks.of_queues(session)
        if settings.sends_mail():
            yield from doctor_checks.of_mail(session)
        yield from doctor_checks.of_backups(settings, session)


def _of_service(settings: Settings) -> Iterator[DoctorFinding]:
    """Report whether `fairboard serve` runs on the data folder, and whether the broker responds."""
    served_by, url = lock.holder(settings.data_dir), settings.redis_url()
    if served_by:
        yield doctor_checks.ok("service", f"The data folder is served by {served_by}.")
        url = url or f"unix://{(settings.data_dir / valkey.LINK).resolve()}"
    else:
        yield doctor_checks.ok("service", "`fairboard serve` is not running on this data folder.")
    try:
        if url is not None:
            exporter.ping(url)
            yield doctor_checks.ok("queue", "The broker responds.")
    except (RedisError, ValueError) as error:
        yield doctor_checks.warning(
            "queue",
            f"The broker does not respond ({error}). Until it does, only the sweeper scores submissions, "
            "with a delay of a few seconds.",
        )


def _of_arithmetic() -> Iterator[DoctorFinding]:
    from fairboard import check_golden_vectors

    try:
        check_golden_vectors()
    # Faulty libraries on this machine may raise any error.
    except Exception as error:
        yield doctor_checks.alarm(
            "arithmetic",
            f"This machine computes incorrect scores: {error}. Reinstall the locked package versions.",
        )
    else:
        yield doctor_checks.ok("arithmetic", "The golden vectors have the expected scores.")

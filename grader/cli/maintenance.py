"""Maintenance commands: backup, restore, migrate, orphans, doctor."""

import dataclasses
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
from redis import Redis
from redis.exceptions import RedisError

from grader import db
from grader.cli.installation import (
    load_settings,
    make_data_folder,
    opened,
    opened_database,
    require_entry,
    running_out_of_room_in_a_sentence,
)
from grader.cli.output import ProgressLine
from grader.cli.parameters import LocalPath
from grader.db import Database
from grader.maintenance import backups, doctor_checks, schema
from grader.maintenance.doctor_checks import Finding, Level
from grader.settings import PREFIX, Settings
from grader.storage import blobs
from grader.storage.stores import Storage, StorageUnavailable, open_storage
from grader.supervisor import lock, valkey
from grader.text import counted

MARKS = {Level.OK: "ok     ", Level.WARNING: "warning", Level.ALARM: "ALARM  "}


@click.command()
@click.argument("folder", type=LocalPath())
def backup(folder: Path) -> None:
    """Back up the database, blobs and settings to the new FOLDER, while the service runs.

    \b
    fairboard backup /mnt/backups/2026-03-01

    The backup is consistent. It contains no secrets; the command lists the secrets that a restore needs.
    """
    with opened() as here, running_out_of_room_in_a_sentence(), ProgressLine("blobs") as line:
        made = backups.make(here.settings, here.database, here.storage, folder, tell=line.show)
    click.echo(
        f"{folder}: the database as of {made.made_at} and {counted(made.blob_count, 'blob')} "
        f"({counted(made.blob_bytes, 'byte')})."
    )
    click.echo("Not in the backup, but needed for a restore:")
    for sentence in made.secrets:
        click.echo(f"- {sentence}")
    if made.unusable_blobs:
        raise click.ClickException(
            f"{counted(len(made.unusable_blobs), 'blob')} in use could not be backed up (missing or "
            "damaged). "
            "Run `fairboard doctor` to see the rows that refer to them."
        )


@click.command()
@click.argument("folder", type=LocalPath(exists=True, file_okay=False))
def restore(folder: Path) -> None:
    """Restore a backup of this or an earlier version from FOLDER into an empty installation.

    \b
    FAIRBOARD_DATA_DIR=/srv/new fairboard restore /mnt/backups/2026-03-01

    E-mails that were queued when the backup was made are not sent, because they may have been sent since.
    """
    settings = load_settings()
    with (
        opened_database(settings) as database,
        lock.hold(settings.data_dir.resolve()),
        running_out_of_room_in_a_sentence(),
        ProgressLine("blobs") as line,
    ):
        done = backups.restore(settings, database, open_storage(settings.storage()), folder, tell=line.show)
    made = done.manifest
    click.echo(
        f"Restored the state as of {made.made_at}: {counted(made.blob_count, 'blob')}, schema "
        f"{made.revision}."
    )
    if not made.with_blobs:
        click.echo("This backup contains no blobs. The configured storage must already contain them.")
    if done.held_mails:
        click.echo(
            "Queued e-mails that will not be sent, because they may have been sent already: "
            f"{done.held_mails:,}."
        )
    if not done.has_secret_key:
        click.echo("The secret key differs from that of the backed-up installation. " + made.secrets[0])
    click.echo("Run `fairboard doctor` to check the installation, then start `fairboard serve`.")


@click.command()
@click.option("--without-backup", is_flag=True, help="Upgrade without copying the database first.")
def migrate(without_backup: bool) -> None:
    """Upgrade the database schema to the installed version; `fairboard serve` does this at startup.

    Copies the database to backups/ in the data folder before an upgrade.
    """
    settings = load_settings()
    with opened_database(settings) as database, running_out_of_room_in_a_sentence():
        before = schema.current(database)
        if without_backup:
            schema.upgrade(database)
        else:
            backups.migrate(settings, database, say=click.echo)
        after = schema.current(database)
    click.echo(
        f"The database schema is at {after}."
        if before == after
        else f"Upgraded the database schema from {before or 'no tables'} to {after}."
    )


@click.command()
@click.option("--delete", is_flag=True, help="Delete the listed blobs.")
def orphans(delete: bool) -> None:
    """List blobs that have been unreferenced for a day; the sweeper deletes them once a day."""
    with opened() as here:
        if delete:
            gone = blobs.collect(here.database, here.storage, is_sure=True)
            click.echo(f"Deleted: {counted(gone.count, 'blob')} ({counted(gone.size, 'byte')}).")
            return
        listed = list(here.storage.blobs())
        with here.database.read() as session:
            found = blobs.orphans(session, listed=listed, now=db.now(session))
    size = sum(blob.size for blob in found)
    click.echo(
        f"{counted(len(found), 'unreferenced blob')} ({counted(size, 'byte')}). Use --delete to delete them."
    )
    for blob in found:
        click.echo(f"{blob.sha256}  {blob.size:>12,}  {blob.touched_at:%Y-%m-%d %H:%M} UTC")


@click.command()
@click.option("--read-all", is_flag=True, help="Read every blob in full; by default, blobs are only listed.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(read_all: bool, as_json: bool) -> None:
    """Diagnose problems with the installation and suggest fixes; exit with code 1 on an alarm."""
    settings = load_settings()
    findings = list(_findings(settings, read_all))
    if as_json:
        click.echo(json.dumps({"findings": [dataclasses.asdict(each) for each in findings]}, indent=1))
    else:
        for each in findings:
            click.echo(f"{MARKS[each.level]}  {each.subject}: {each.message}")
    if any(each.level is Level.ALARM for each in findings):
        raise click.exceptions.Exit(1)


def _findings(settings: Settings, read_all: bool) -> Iterator[Finding]:
    try:
        make_data_folder(settings)
        require_entry(settings, os.R_OK | os.X_OK)
    except click.ClickException as error:
        yield doctor_checks.alarm("rights", error.message)
        return
    yield from doctor_checks.of_settings(settings)
    yield from doctor_checks.of_rights(settings)
    yield from doctor_checks.of_disks(settings)
    yield from _of_service(settings)
    yield from _of_broker(settings)
    yield from _of_arithmetic()
    storage = open_storage(settings.storage())
    yield from doctor_checks.of_storage(storage)
    try:
        with opened_database(settings) as database:
            yield from _of_database(settings, database, storage, read_all)
    except click.ClickException as error:
        yield doctor_checks.alarm("database", error.message)


def _of_database(
    settings: Settings, database: Database, storage: Storage, read_all: bool
) -> Iterator[Finding]:
    yield from doctor_checks.of_tables(database)
    if not schema.is_current(database):
        return
    with suppress(StorageUnavailable):  # reported above
        yield from doctor_checks.of_blobs(database, storage, read_all=read_all)
    with database.read() as session:
        yield from doctor_checks.of_scoring(session)
        if settings.sends_mail():
            yield from doctor_checks.of_mail(session)


def _of_service(settings: Settings) -> Iterator[Finding]:
    served_by = lock.holder(settings.data_dir)
    yield doctor_checks.ok(
        "service",
        f"The data folder is served by {served_by}."
        if served_by
        else "`fairboard serve` is not running on this data folder.",
    )


def _of_broker(settings: Settings) -> Iterator[Finding]:
    if settings.broker_url is not None:
        url = settings.broker_url.get_secret_value().replace("redis+socket://", "unix://", 1)
        hint = f"Check that it is running and that {PREFIX}BROKER_URL is correct."
    elif lock.holder(settings.data_dir):
        url = f"unix://{valkey.socket_path(settings.data_dir.resolve())}"
        hint = f"{settings.data_dir / 'valkey' / 'valkey.log'} may contain the reason."
    else:
        yield doctor_checks.ok(
            "queue", "No broker is set: `serve` starts its own, and the sweeper needs none."
        )
        return
    try:
        with Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as broker:
            broker.ping()
    except (RedisError, ValueError) as error:
        yield doctor_checks.warning(
            "queue",
            f"The broker does not respond ({error}). {hint} Until it does, only the sweeper scores "
            "submissions, with a delay of a few seconds.",
        )
    else:
        yield doctor_checks.ok("queue", "The broker responds.")


def _of_arithmetic() -> Iterator[Finding]:
    from grader.metrics import check_golden_vectors

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

"""`fairboard backup`, `restore`, `migrate` and `orphans`: what an installation stores."""

from pathlib import Path

import click

from grader import db
from grader.cli.installation import load_settings, opened, opened_database, running_out_of_room_in_a_sentence
from grader.cli.parameters import LocalPath
from grader.cli.progress import ProgressLine
from grader.maintenance import backups, schema
from grader.storage import blobs
from grader.storage.stores import open_storage
from grader.supervisor import lock
from grader.text import counted


@click.command()
@click.argument("folder", type=LocalPath())
def backup(folder: Path) -> None:
    """Write a backup into the new FOLDER: database, blobs and settings, while the service runs.

    \b
    fairboard backup /mnt/backups/2026-03-01

    The backup is consistent. It contains no secrets; the command names those that a restore needs.
    """
    with opened() as here, running_out_of_room_in_a_sentence(), ProgressLine("blobs") as line:
        made = backups.make(here.settings, here.database, here.storage, folder, tell=line.show)
    click.echo(
        f"{folder}: the database of {made.made_at} and {counted(made.blob_count, 'blob')} "
        f"({counted(made.blob_bytes, 'byte')})."
    )
    click.echo("Not in it, and needed for a restore:")
    for sentence in made.secrets:
        click.echo(f"- {sentence}")
    if made.unusable_blobs:
        raise click.ClickException(
            f"{counted(len(made.unusable_blobs), 'more blob')} that rows refer to, missing or damaged "
            "before: "
            "`fairboard doctor` says which rows."
        )


@click.command()
@click.argument("folder", type=LocalPath(exists=True, file_okay=False))
def restore(folder: Path) -> None:
    """Fill an empty installation from the backup in FOLDER, made by this version or an earlier one.

    \b
    FAIRBOARD_DATA_DIR=/srv/new fairboard restore /mnt/backups/2026-03-01

    E-mails that were waiting when the backup was made are not sent: they may have been sent since.
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
        f"Restored the state of {made.made_at}: {counted(made.blob_count, 'blob')}, tables {made.revision}."
    )
    if not made.with_blobs:
        click.echo("This backup has no blobs: those of the storage in force must be the ones it knew.")
    if done.held_mails:
        click.echo(
            "E-mails that were waiting and will not be sent, because they may have been sent before: "
            f"{done.held_mails:,}."
        )
    if not done.has_secret_key:
        click.echo("The secret key is different. " + made.secrets[0])
    click.echo("Run `fairboard doctor` to check the installation, then start `fairboard serve`.")


@click.command()
@click.option("--without-backup", is_flag=True, help="Change older tables without a copy of the database.")
def migrate(without_backup: bool) -> None:
    """Bring the database's tables to this version; `fairboard serve` does this when it starts.

    First copies older tables to backups/ in the data folder.
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
        f"The database is at {after}." if before == after else f"From {before or 'no tables'} to {after}."
    )


@click.command()
@click.option("--delete", is_flag=True, help="Delete them.")
def orphans(delete: bool) -> None:
    """List blobs that no row has referred to for a day; the sweeper deletes them once a day."""
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
        f"Named by no row: {counted(len(found), 'blob')} ({counted(size, 'byte')}); --delete deletes them."
    )
    for blob in found:
        click.echo(f"{blob.sha256}  {blob.size:>12,}  {blob.touched_at:%Y-%m-%d %H:%M} UTC")

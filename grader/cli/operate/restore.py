"""`fairboard restore`: restore an installation from a backup."""

from pathlib import Path

import click

from grader.cli.installation import load_settings, opened_database, running_out_of_room_in_a_sentence
from grader.cli.parameters import LocalPath
from grader.cli.progress import ProgressLine
from grader.maintenance import backups
from grader.storage.stores import open_storage
from grader.supervisor import lock
from grader.text import counted


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

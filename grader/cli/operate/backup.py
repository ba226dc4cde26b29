"""`fairboard backup`: make a backup of the installation."""

from pathlib import Path

import click

from grader.cli.installation import opened, running_out_of_room_in_a_sentence
from grader.cli.parameters import LocalPath
from grader.cli.progress import ProgressLine
from grader.maintenance import backups
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

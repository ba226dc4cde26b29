"""`fairboard sweeper`: run the sweeper."""

import os
from pathlib import Path

import click

from grader.cli.installation import opened
from grader.cli.logs import show_log
from grader.cli.parameters import LocalPath


@click.command()
@click.option(
    "--heartbeat",
    type=LocalPath(dir_okay=False),
    help="A file to touch whenever the database answers; a health check can look at its age.",
)
def sweeper(heartbeat: Path | None) -> None:
    """Score submissions that waited too long or were abandoned, until SIGTERM or Ctrl-C; needs no queue.

    `fairboard serve` runs one. Several may run at once.
    """
    from grader.worker.sweeper import sweep_until_told_to_stop

    if heartbeat is not None and not os.access(heartbeat.parent, os.W_OK):
        raise click.BadParameter(
            f"The folder {heartbeat.parent} cannot be written.", param_hint="--heartbeat"
        )
    show_log("%(asctime)s sweeper: %(message)s")
    with opened() as installation:  # refuses tables of another version
        settings = installation.settings
    sweep_until_told_to_stop(settings, heartbeat=heartbeat)

"""Commands of the service: serve, sweeper, demo, settings."""

import logging
import os
from pathlib import Path

import click

from grader.cli.installation import (
    database_failures_in_a_sentence,
    load_settings,
    make_data_folder,
    opened,
    require_entry,
)
from grader.cli.parameters import LocalPath
from grader.settings import PREFIX


@click.command()
@click.option("--host", help="Address to listen on (FAIRBOARD_HOST; 127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port, 0 for a free one (FAIRBOARD_PORT; 7777).")
def serve(host: str | None, port: int | None) -> None:
    """Run the site with its queue, worker and sweeper, on the data folder FAIRBOARD_DATA_DIR (./var).

    \b
    FAIRBOARD_DATA_DIR=/srv/fairboard fairboard serve --port 8000

    Processes that die are restarted. Ctrl-C or SIGTERM stops it; nothing is lost however it ends.
    """
    from grader.supervisor.service import serve as run_service  # the other commands need none of it

    show_log("%(asctime)s serve: %(message)s")
    given = {"host": host, "port": port}
    settings = load_settings(**{name: value for name, value in given.items() if value is not None})
    make_data_folder(settings)
    require_entry(settings, os.R_OK | os.W_OK | os.X_OK)
    with database_failures_in_a_sentence():
        run_service(settings, announce=click.echo)


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
    with opened() as installation:  # rejects tables of another version
        settings = installation.settings
    sweep_until_told_to_stop(settings, heartbeat=heartbeat)


@click.command()
def settings() -> None:
    """Show every setting: its variable, its value (secrets masked) and its description."""
    in_force = load_settings()
    for name, setting in type(in_force).model_fields.items():
        value = getattr(in_force, name)
        given = "" if value is None else str(value)
        click.echo(f"{PREFIX}{name.upper()}={given}")
        click.echo(f"    {setting.description}")


@click.command()
@click.option("--check", is_flag=True, help="Check everything on a separate port and data folder, then stop.")
def demo(check: bool) -> None:
    """Serve a generated competition with a dozen honest models as teams, until Ctrl-C."""
    click.echo(
        "Starting the demo. The first time it takes about a minute."
    )  # before what takes seconds to import
    from grader.demo import run

    if not check:
        run.serve(load_settings(), click.echo)
        return
    disagreements = run.run_check(click.echo)
    if disagreements:
        raise click.ClickException("\n".join(disagreements))


def show_log(line_format: str) -> None:
    """Show the log of the grader from INFO on, and of libraries from WARNING on."""
    logging.basicConfig(level=logging.WARNING, format=line_format)
    logging.getLogger("grader").setLevel(logging.INFO)

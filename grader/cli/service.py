"""Service commands: serve, sweeper, demo, migrate, settings."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from grader import logs
from grader.cli.configuration import installed_settings, load_settings, make_data_folder
from grader.cli.parameters import OUTPUT_FILE
from grader.errors import FairboardError
from grader.logs import observe
from grader.settings import PREFIX
from grader.storage import disk


@contextmanager
def _service(process: str) -> Iterator[None]:
    """Log the errors of a command as JSON if that is the format of log lines."""
    if os.environ.get(f"{PREFIX}LOG_FORMAT") != "json":
        yield
        return
    logs.configure_process(process, log_format="json", level="warning")
    try:
        yield
    except (click.ClickException, FairboardError) as error:
        logging.getLogger(__name__).critical(error.message)
        raise click.exceptions.Exit(1) from error


@click.command()
@click.option("--host", help="Address to listen on; by default FAIRBOARD_HOST or 127.0.0.1.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen on, or 0 for any free port; by default FAIRBOARD_PORT or 7777.",
)
@_service("serve")
def serve(host: str | None, port: int | None) -> None:
    """Run the site with its queue, worker and sweeper on the folder FAIRBOARD_DATA_DIR (./var).

    \b
    FAIRBOARD_DATA_DIR=/srv/fairboard fairboard serve --port 8000

    Processes that crash are restarted. Ctrl-C or SIGTERM stops the service. No data is lost, even if the
    service is killed.
    """
    from grader.supervisor.service import serve as run_service

    changes = {"host": host, "port": port}
    settings = load_settings(**{name: value for name, value in changes.items() if value is not None})
    observe("serve", settings)
    logs.announce("Starting …")
    make_data_folder(settings)
    if problem := disk.problem(settings):
        raise click.ClickException(problem)
    run_service(settings, announce=logs.announce)


@click.command()
@click.option(
    "--heartbeat",
    type=OUTPUT_FILE,
    help="A file to touch whenever the database responds; health checks can read its modification time.",
)
@_service("sweeper")
def sweeper(heartbeat: Path | None) -> None:
    """Score submissions that no worker has finished in time, until SIGTERM or Ctrl-C.

    The sweeper needs no queue. `fairboard serve` runs one; several may run at once.
    """
    from grader.cli.installation import opened
    from grader.worker.sweeper import sweep_until_told_to_stop

    if heartbeat is not None and not os.access(heartbeat.parent, os.W_OK):
        raise click.BadParameter(f"The folder {heartbeat.parent} is not writable.", param_hint="--heartbeat")
    # This rejects the schema of an older version.
    with opened(with_newer_tables=True) as installation:
        settings = installation.settings
    observe("sweeper", settings)
    sweep_until_told_to_stop(settings, heartbeat=heartbeat)


@click.command()
@click.option("--without-backup", is_flag=True, help="Upgrade without copying the database first.")
@click.option("--for-serve", is_flag=True, hidden=True, help="Print only changes and a setup link's path.")
@_service("migrate")
def migrate(without_backup: bool, for_serve: bool) -> None:
    """Upgrade the database schema to the installed version; `fairboard serve` does this at startup.

    Copies the database to backups/ in the data folder before an upgrade.
    """
    from grader import db
    from grader.cli.installation import opened_database
    from grader.maintenance import schema
    from grader.services.identity import administrators
    from grader.supervisor.service import SETUP_PATH

    settings = installed_settings()
    with opened_database(settings) as database:
        before = schema.current(database)
        if before not in (None, schema.head()) and not without_backup:
            from grader.maintenance import backups  # slow, and rarely needed

            folder = backups.copy_before_upgrade(settings, database)
            click.echo(f"The database has an older schema ({before}). A backup is in {folder}.")
        schema.upgrade(database)
        after = schema.current(database)
        with database.write() as session:
            now = db.now(session)
            created = administrators.create_from_settings(session, settings=settings, now=now)
            token = administrators.create_setup_link(session, now=now) if for_serve else None
    if not for_serve:
        click.echo(f"The database schema is at {after}.")
    if created:
        click.echo(f"Created the administrator {created.name}.")
    if token:
        click.echo(f"{SETUP_PATH}{token}")


@click.command()
def settings() -> None:
    """Show every setting with its variable, value (secrets masked) and description."""
    installed = installed_settings()
    for name, field in type(installed).model_fields.items():
        value = getattr(installed, name)
        click.echo(f"{PREFIX}{name.upper()}={'' if value is None else value}\n    {field.description}")


@click.command()
def demo() -> None:
    """Serve a generated competition with seven teams, until Ctrl-C."""
    from grader.demo import run

    run.serve(load_settings(), click.echo)

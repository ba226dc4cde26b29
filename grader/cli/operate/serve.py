"""`fairboard serve`: run the whole site on one machine."""

import os

import click

from grader.cli.installation import (
    database_failures_in_a_sentence,
    load_settings,
    make_data_folder,
    require_entry,
)
from grader.cli.logs import show_log
from grader.supervisor.service import serve as run_service


@click.command()
@click.option("--host", help="Address to listen on (FAIRBOARD_HOST; 127.0.0.1).")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port, 0 for a free one (FAIRBOARD_PORT; 7777).",
)
def serve(host: str | None, port: int | None) -> None:
    """Run the site with its queue, worker and sweeper, on the data folder FAIRBOARD_DATA_DIR (./var).

    \b
    FAIRBOARD_DATA_DIR=/srv/fairboard fairboard serve --port 8000

    Processes that die are restarted. Ctrl-C or SIGTERM stops it; nothing is lost however it ends.
    """
    show_log("%(asctime)s serve: %(message)s")
    given = {"host": host, "port": port}
    settings = load_settings(**{name: value for name, value in given.items() if value is not None})
    make_data_folder(settings)
    require_entry(settings, os.R_OK | os.W_OK | os.X_OK)
    with database_failures_in_a_sentence():
        run_service(settings, announce=click.echo)

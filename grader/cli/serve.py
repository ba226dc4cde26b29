"""`fairboard serve`."""

import logging

import click

from grader.settings import load
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

    Everything is started again when it dies. Ctrl-C or SIGTERM stops it; nothing is lost however it ends.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s serve: %(message)s")
    given = {"host": host, "port": port}
    run_service(
        load(**{name: value for name, value in given.items() if value is not None}), announce=click.echo
    )

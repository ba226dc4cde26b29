"""`fairboard sweeper`."""

import logging
import signal
import sys
import threading

import click

from grader.cli.installation import opened


@click.command()
def sweeper() -> None:
    """Score what waits too long or was abandoned, until SIGTERM or Ctrl-C; needs no queue.

    `fairboard serve` runs one. Several may run at once.
    """
    from grader.worker.sweeper import Sweeper

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    with opened() as installation:
        Sweeper(installation.settings, installation.database).run(threading.Event())

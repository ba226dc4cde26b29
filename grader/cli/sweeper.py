"""`fairboard sweeper`."""

import signal
import sys
import threading

import click

from grader.cli.installation import opened
from grader.cli.logs import show_log


@click.command()
def sweeper() -> None:
    """Score what waits too long or was abandoned, until SIGTERM or Ctrl-C; needs no queue.

    `fairboard serve` runs one. Several may run at once.
    """
    from grader.worker.sweeper import Sweeper

    show_log("%(asctime)s sweeper: %(message)s")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    with opened() as installation:
        Sweeper(installation.settings, installation.database).run(threading.Event())

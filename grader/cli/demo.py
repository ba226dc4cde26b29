"""`fairboard demo`."""

import sys

import click

from grader.demo.run import run_check, serve
from grader.settings import load


@click.command()
@click.option(
    "--check",
    is_flag=True,
    help="Use a folder and a port of its own, compare every figure with an independent computation, stop.",
)
def demo(check: bool) -> None:
    """Serve a generated competition in which a dozen honest models compete, until Ctrl-C.

    The data folder is FAIRBOARD_DATA_DIR (./var); a second start goes on with what is there.
    """
    if not check:
        serve(load(), click.echo)
        return
    wrong = run_check(click.echo)
    if wrong:
        sys.exit("\n".join(["The demo does not agree with the independent computation:", *wrong]))
    click.echo("The demo agrees with the independent computation, before and after the rescoring.")

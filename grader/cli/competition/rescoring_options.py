"""Options of `fairboard rescore`, on the installation and over HTTP."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from grader.cli.parameters import LocalPath, Time

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = LocalPath(exists=True, dir_okay=False)
FOLDER = LocalPath(file_okay=False)
_OPTIONS = (
    click.argument("slug"),
    click.argument("solution", type=FILE, required=False),
    click.option("--settings", type=FILE, help="A TOML file with a new [metric], instead of SOLUTION."),
    click.option("--rollback", type=int, metavar="NUMBER", help="Go back to this earlier scoring version."),
    click.option("--reason", help="Why the scores change; participants see it."),
    click.option(
        "--preview", is_flag=True, help=("Score everything and show the difference, but publish nothing.")
    ),
    click.option("--publish", is_flag=True, help="Publish the rescoring in progress."),
    click.option("--difference", is_flag=True, help="Show what the rescoring in progress changes."),
    click.option("--drop", is_flag=True, help="Cancel the rescoring in progress."),
    click.option(
        "--csv", "folder", type=FOLDER, help="Write the full difference as CSV files to this folder."
    ),
    click.option(
        "--notice", default="", help=("The message to teams, e-mailed with their old and new public scores.")
    ),
    click.option(
        "--extra-submissions", type=click.IntRange(0), default=0, help="For every team, today (UTC)."
    ),
    click.option("--closes", "closes_at", type=Time(), help="A later closing date (UTC)."),
    click.option("--selection-until", type=Time(), help="Reopen the final selection until then (UTC)."),
    click.option("--yes", is_flag=True, help="Switch the leaderboards without asking; for scripts."),
    click.option(
        "--lose-scores",
        is_flag=True,
        help="Switch even if submissions lose their score because scoring them broke.",
    ),
)


def rescoring_options(command: Command) -> Command:
    """Give a command the arguments and options of a rescoring."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command

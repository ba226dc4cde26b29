"""Options of `fairboard competition create`, on the installation and over HTTP."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from grader.cli.parameters import Deadline, LocalPath, NameList, Time

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = LocalPath(exists=True, dir_okay=False)
_OPTIONS = (
    click.argument("slug"),
    click.option("--solution", type=FILE, help="The secret file: id, label, identities and Usage."),
    click.option("--title", help="The title that people see."),
    click.option("--overview", type=FILE, help="A Markdown file for the competition's overview."),
    click.option("--label", help="The label's column; by default target, label or toxicity."),
    click.option(
        "--identities",
        type=NameList(),
        help="The identities in the score; by default those with enough rows of both classes in both splits.",
    ),
    click.option("--opens", "opens_at", type=Time(), help="When it opens (UTC); by default now."),
    click.option("--closes", "closes_at", type=Deadline(), help="When it closes (UTC); by default never."),
    click.option("--owner", help="The account that owns it and sends the sample submission."),
    click.option(
        "--publish", "is_published", is_flag=True, help="Publish the draft of a FILE.toml immediately."
    ),
)


def creation_options(command: Command) -> Command:
    """Give a command the arguments and options of a new competition."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command

"""The groups `fairboard competition`, `user` and `token`."""

import click

from grader.cli.group import CliEntry, CommandGroup
from grader.cli.organize import setup
from grader.cli.organize.call_table import ACCOUNTS, CALLS, ORGANIZERS, TOKENS

LOCAL = "organize.local"


@click.group(
    cls=CommandGroup,
    sections={
        "Commands": {
            "check": CliEntry("metric.check", "Check a solution file before you create a competition.")
        }
    },
)
def competition() -> None:
    """Create, list, change, moderate and reveal competitions."""


@competition.group(cls=CommandGroup)
def organizer() -> None:
    """Manage the organizers: owners, editors and viewers (read only)."""


@click.group(
    cls=CommandGroup,
    sections={
        "Commands": {
            "admin": CliEntry(LOCAL, "Make the account NAME an administrator of the site."),
            "create": CliEntry(
                LOCAL, "Create the account NAME and print its generated password.", attribute="create_user"
            ),
            "login-link": CliEntry(LOCAL, "Print a link that logs NAME in; works once, expires after a day."),
            "reset-second-factors": CliEntry(LOCAL, "Remove the second factors and sessions of NAME."),
        }
    },
)
def user() -> None:
    """Create and list accounts, invitations and password reset links."""


@click.group(
    cls=CommandGroup,
    sections={
        "Commands": {
            "create": CliEntry(LOCAL, "Create an API token for USER and print it.", attribute="create_token")
        }
    },
)
def token() -> None:
    """Create, list and revoke API tokens."""


for group, calls in ((competition, CALLS), (organizer, ORGANIZERS), (user, ACCOUNTS), (token, TOKENS)):
    for name, call in calls.items():
        group.add_command(call.command(name))
for command in setup.COMMANDS:
    competition.add_command(command)

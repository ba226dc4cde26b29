"""The groups `fairboard competition`, `user` and `token`, and commands that print results."""

import json
from collections.abc import Mapping
from itertools import chain, islice
from typing import Any

import click

from grader.cli.client.connection import organizers
from grader.cli.group import CliEntry, CommandGroup
from grader.cli.organize import setup
from grader.cli.organize.call_table import ACCOUNTS, CALLS, ORGANIZE, ORGANIZERS, TOKENS
from grader.cli.output import CommandOutput
from grader.client import Client
from grader.client.organizer import quoted

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


@competition.command()
@click.argument("slug", required=False)
@click.option("--action", default="", help="Show only this action, or this type of object, such as `team`.")
@click.option(
    "--by",
    "person",
    default="",
    help="Show only actions by this account, or by an origin such as `calendar`.",
)
@click.option(
    "--rows",
    default=50,
    show_default=True,
    type=click.IntRange(1, 10**6),
    help="The number of actions to show.",
)
@organizers
def audit(client: Client, slug: str | None, action: str, person: str, rows: int) -> CommandOutput:
    """Show the audit log of SLUG, newest actions first.

    Without SLUG, show actions on the site as a whole and on drafts that have been deleted.
    """
    asked = {"action": action or None, "by": person or None}
    pages = client.pages_of(f"{ORGANIZE.format(slug=quoted(slug))}/audit" if slug else "audit", **asked)
    shown = list(islice(chain.from_iterable(page["entries"] for page in pages), rows))
    return CommandOutput({"entries": shown}, [line for entry in shown for line in _lines(entry)])


def _lines(entry: Mapping[str, Any]) -> list[str]:
    by, before, after = entry["actor"] or entry["origin"], entry["before"], entry["after"]
    lines = [f"{entry['at'][:19].replace('T', ' ')} UTC  {by}  {entry['action']}  {entry['subject']}"]
    for name in before | after:
        was, became = (json.dumps(values.get(name), ensure_ascii=False) for values in (before, after))
        lines.append(f"    {name}: {was} -> {became}")
    return [*lines, *([f"    reason: {entry['reason']}"] if entry["reason"] else [])]

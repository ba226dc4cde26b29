"""`fairboard user` and `token`: the command groups."""

from typing import Any

import click

from grader.cli.group import CliEntry, CommandGroup
from grader.cli.organize.acts import act_on_site
from grader.cli.organize.calls import ACCOUNTS, TOKENS, people
from grader.client import Client
from grader.text import aligned

MODULE = "grader.cli.organize.local"
LOCAL = {
    "admin": CliEntry(MODULE, "Make the account NAME an administrator of the site."),
    "create": CliEntry(
        MODULE, "Create the account NAME and print its generated password.", attribute="create_user"
    ),
    "login-link": CliEntry(
        MODULE, "Print a link that logs NAME in; it works only once and expires after a day."
    ),
    "reset-second-factors": CliEntry(MODULE, "Remove the second factors and sessions of NAME."),
}
CREATE_TOKEN = CliEntry(MODULE, "Create an API token for USER and print it.", attribute="create_token")


@click.group(cls=CommandGroup, sections={"Commands": LOCAL})
def user() -> None:
    """Create and list accounts, invitations and password reset links."""


@click.group(cls=CommandGroup, sections={"Commands": {"create": CREATE_TOKEN}})
def token() -> None:
    """Create, list and revoke API tokens."""


for name, call in ACCOUNTS.items():
    user.add_command(call.command(name))
for name, call in TOKENS.items():
    token.add_command(call.command(name))


@user.command("list")
@click.option("--search", default="", help="Show only accounts with this text in their name or address.")
@act_on_site
def list_(client: Client, search: str) -> tuple[Any, str]:
    """List the accounts, sorted by name."""
    accounts = sorted(people(client, search), key=lambda each: str(each["name"]).casefold())
    lines = [["name", "e-mail", "since"]]
    for each in accounts:
        role = " (administrator)" if each["is_admin"] else ""
        role += " (suspended)" if each["suspended_at"] else ""
        unconfirmed = " (not confirmed)" if each["email"] and not each["email_verified_at"] else ""
        lines.append([each["name"] + role, (each["email"] or "") + unconfirmed, each["created_at"][:10]])
    return {"people": accounts}, "\n".join(aligned(lines, numbers=False))


@user.command()
@click.option(
    "--count", default=1, show_default=True, type=click.IntRange(1, 1000), help="The number of links."
)
@act_on_site
def invite(client: Client, count: int) -> tuple[Any, str]:
    """Print invitation links; each creates one account and expires after 14 days."""
    made = [client.call("POST", "invitations") for _ in range(count)]
    return {"invitations": made}, "\n".join(each["url"] for each in made)

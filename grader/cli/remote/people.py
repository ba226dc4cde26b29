"""`fairboard user` over HTTP, for administrators: list accounts, make reset links and invitations."""

from typing import Any

import click

from grader.cli.alignment import aligned
from grader.cli.group import RemoteGroup
from grader.cli.remote.acts import act_over_http
from grader.client import Client, Unusable

LOCAL = {
    "admin": ("grader.cli.operate.user", "Make the account NAME an administrator of the site."),
    "create": ("grader.cli.operate.user", "Create the account NAME and print its generated password."),
    "login-link": ("grader.cli.operate.user", "Print a link that logs NAME in, once, within a day."),
}


@click.group(cls=RemoteGroup, local=LOCAL)
def user() -> None:
    """Create and list accounts, invitations and password reset links."""


@user.command("list")
@click.option("--search", default="", help="Only names and addresses that contain this.")
@act_over_http
def list_(client: Client, search: str) -> tuple[Any, str]:
    """List the accounts by name."""
    people = sorted(_people(client, search), key=lambda each: str(each["name"]).casefold())
    lines = [["name", "e-mail", "since"]]
    for each in people:
        role = " (administrator)" if each["is_admin"] else ""
        lines.append([each["name"] + role, each["email"] or "", each["created_at"][:10]])
    return {"people": people}, "\n".join(aligned(lines, numbers=False))


@user.command("reset-link")
@click.argument("name")
@act_over_http
def reset_link(client: Client, name: str) -> tuple[Any, str]:
    """Print a link with which NAME sets a new password, once, within a day."""
    for each in _people(client, name):
        if each["name"] == name:
            made = client.call("POST", f"people/{each['id']}/reset-link")
            return made, made["url"]
    raise Unusable(f"There is no account {name!r}.")


@user.command()
@click.option("--count", default=1, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@act_over_http
def invite(client: Client, count: int) -> tuple[Any, str]:
    """Print links that create one account each, within 14 days."""
    made = [client.call("POST", "invitations") for _ in range(count)]
    return {"invitations": made}, "\n".join(each["url"] for each in made)


def _people(client: Client, search: str) -> list[dict[str, Any]]:
    pages = client.pages_of("people", q=search or None)
    return [person for page in pages for person in page["people"]]

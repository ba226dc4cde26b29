"""`fairboard user` and `token`: accounts, reset links, invitations, API tokens."""

from typing import Any

import click

from grader.cli.group import PartlyLocalGroup, SubcommandGroup
from grader.cli.organize.acts import act_for_user, act_on_site, installation_of
from grader.cli.output import aligned
from grader.client import Client, Unusable

SCOPES = ("read", "submit", "organize", "admin")
LOCAL = {
    "admin": ("grader.cli.organize.local", "Make the account NAME an administrator of the site."),
    "create": ("grader.cli.organize.local", "Create the account NAME and print its generated password."),
    "login-link": ("grader.cli.organize.local", "Print a link that logs NAME in, once, within a day."),
}


@click.group(cls=PartlyLocalGroup, local=LOCAL)
def user() -> None:
    """Create and list accounts, invitations and password reset links."""


@user.command("list")
@click.option("--search", default="", help="Only names and addresses that contain this.")
@act_on_site
def list_(client: Client, search: str) -> tuple[Any, str]:
    """List the accounts by name."""
    people = sorted(_people(client, search), key=lambda each: str(each["name"]).casefold())
    lines = [["name", "e-mail", "since"]]
    for each in people:
        role = " (administrator)" if each["is_admin"] else ""
        unconfirmed = " (not confirmed)" if each["email"] and not each["email_verified_at"] else ""
        lines.append([each["name"] + role, (each["email"] or "") + unconfirmed, each["created_at"][:10]])
    return {"people": people}, "\n".join(aligned(lines, numbers=False))


@user.command("reset-link")
@click.argument("name")
@act_on_site
def reset_link(client: Client, name: str) -> tuple[Any, str]:
    """Print a link with which NAME sets a new password, once, within a day."""
    for each in _people(client, name):
        if each["name"].casefold() == name.casefold():
            made = client.call("POST", f"people/{each['id']}/reset-link")
            return made, made["url"]
    raise Unusable(f"There is no account named {name!r}.")


@user.command()
@click.option("--count", default=1, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@act_on_site
def invite(client: Client, count: int) -> tuple[Any, str]:
    """Print links that create one account each, within 14 days."""
    made = [client.call("POST", "invitations") for _ in range(count)]
    here = installation_of(client)
    if here is not None and here.settings.sign_up == "closed":
        click.echo("They work once FAIRBOARD_SIGN_UP is `invite` or `open`: now it is `closed`.", err=True)
    return {"invitations": made}, "\n".join(each["url"] for each in made)


@click.group(cls=SubcommandGroup)
def token() -> None:
    """Create, list and revoke API tokens."""


@token.command()
@click.argument("user")
@click.option("--name", default="shell", show_default=True, help="What the token is for.")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    help="What the token may do; by default read and submit.",
)
@click.option("--competition", "slug", help="The token serves in this competition alone.")
@click.option(
    "--days", type=click.IntRange(1, 36_500), help="The token expires after this many days; by default never."
)
@act_for_user
def create(
    client: Client, user: str, name: str, scopes: tuple[str, ...], slug: str | None, days: int | None
) -> tuple[Any, str]:
    """Create an API token for USER and print it; it is not shown again.

    \b
    fairboard token create ada --name nightly --scope submit --days 30

    With --server USER is the owner of the token that asks. The new one may do no more, and ends no later.
    """
    _require_own(client, user)
    sent = {"name": name, "scopes": scopes or SCOPES[:2], "competition": slug, "days": days}
    made = client.call("POST", "tokens", json=sent)
    return made, made["token"]


@token.command("list")
@click.argument("user")
@act_for_user
def list_tokens(client: Client, user: str) -> tuple[Any, str]:
    """List the API tokens of USER."""
    _require_own(client, user)
    found = client.call("GET", "tokens")
    lines = [["id", "name", "begins with", "may", "ends"]]
    for each in found["tokens"]:
        ends = f"{each['expires_at'][:16].replace('T', ' ')} UTC" if each["expires_at"] else "never"
        lines.append([str(each["id"]), each["name"], each["begins_with"], " and ".join(each["scopes"]), ends])
    return found, "\n".join(aligned(lines, numbers=False))


@token.command()
@click.argument("user")
@click.argument("token_id", type=int)
@act_for_user
def revoke(client: Client, user: str, token_id: int) -> tuple[Any, str]:
    """Revoke the API token TOKEN_ID of USER; `list` shows the ids."""
    _require_own(client, user)
    return client.call("DELETE", f"tokens/{token_id}"), ""


def _require_own(client: Client, user: str) -> None:
    if installation_of(client) is not None:
        return  # the shell acts as this user
    asker = client.call("GET", "me")["name"]
    if asker != user:
        raise Unusable(f"Over HTTP a person has their own tokens only: this one is {asker}'s, not {user}'s.")


def _people(client: Client, search: str) -> list[dict[str, Any]]:
    pages = client.pages_of("people", q=search or None)
    return [person for page in pages for person in page["people"]]

"""`fairboard user` and `token`: accounts, reset links, invitations, API tokens."""

from typing import Any

import click

from grader.cli.group import CliEntry, SubcommandGroup
from grader.cli.organize.acts import act_on_site
from grader.client import Client, Unusable
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


@click.group(cls=SubcommandGroup, local=LOCAL)
def user() -> None:
    """Create and list accounts, invitations and password reset links."""


@user.command("list")
@click.option("--search", default="", help="Show only accounts with this text in their name or address.")
@act_on_site
def list_(client: Client, search: str) -> tuple[Any, str]:
    """List the accounts, sorted by name."""
    people = sorted(_people(client, search), key=lambda each: str(each["name"]).casefold())
    lines = [["name", "e-mail", "since"]]
    for each in people:
        role = " (administrator)" if each["is_admin"] else ""
        role += " (suspended)" if each["suspended_at"] else ""
        unconfirmed = " (not confirmed)" if each["email"] and not each["email_verified_at"] else ""
        lines.append([each["name"] + role, (each["email"] or "") + unconfirmed, each["created_at"][:10]])
    return {"people": people}, "\n".join(aligned(lines, numbers=False))


@user.command("reset-link")
@click.argument("name")
@act_on_site
def reset_link(client: Client, name: str) -> tuple[Any, str]:
    """Print a link that lets NAME set a new password; it works only once and expires after a day."""
    made = client.call("POST", f"people/{_person(client, name)['id']}/reset-link")
    return made, made["url"]


def _moderating(action: str, method: str, path: str, done: str, effect: str) -> None:
    """Register a command that suspends, reinstates or deletes an account."""
    help_text = f"{action.capitalize()} the account NAME: {effect}."

    @user.command(action, help=help_text)
    @click.argument("name")
    @click.option("--reason", default="", help="The reason for the audit log; a suspended user sees it.")
    @click.confirmation_option(prompt=f"{action.capitalize()} this account?")
    @act_on_site
    def moderate(client: Client, name: str, reason: str) -> tuple[Any, str]:
        person = _person(client, name)
        client.call(method, f"people/{person['id']}{path}", json={"reason": reason})
        return {"name": person["name"]}, f"The account {person['name']} is {done}."


_moderating(
    "suspend", "POST", "/suspend", "suspended", "sessions and tokens end, and teams keep their results"
)
_moderating("reinstate", "POST", "/reinstate", "reinstated", "the user can log in again")
_moderating("delete", "DELETE", "", "deleted", "it is anonymized, and teams keep their results")


@user.command()
@click.option(
    "--count", default=1, show_default=True, type=click.IntRange(1, 1000), help="The number of links."
)
@act_on_site
def invite(client: Client, count: int) -> tuple[Any, str]:
    """Print invitation links; each creates one account and expires after 14 days."""
    made = [client.call("POST", "invitations") for _ in range(count)]
    return {"invitations": made}, "\n".join(each["url"] for each in made)


@click.group(
    cls=SubcommandGroup,
    local={
        "create": CliEntry(MODULE, "Create an API token for USER and print it.", attribute="create_token")
    },
)
def token() -> None:
    """Create, list and revoke API tokens."""


@token.command("list")
@act_on_site
def list_tokens(client: Client) -> tuple[Any, str]:
    """List your own API tokens or, with --as, those of USER."""
    found = client.call("GET", "tokens")
    lines = [["id", "name", "starts with", "scopes", "expires"]]
    for each in found["tokens"]:
        ends = f"{each['expires_at'][:16].replace('T', ' ')} UTC" if each["expires_at"] else "never"
        lines.append([str(each["id"]), each["name"], each["begins_with"], " and ".join(each["scopes"]), ends])
    return found, "\n".join(aligned(lines, numbers=False))


@token.command()
@click.argument("token_id", type=int)
@act_on_site
def revoke(client: Client, token_id: int) -> tuple[Any, str]:
    """Revoke your API token TOKEN_ID; `list` shows the ids."""
    return client.call("DELETE", f"tokens/{token_id}"), ""


def _person(client: Client, name: str) -> dict[str, Any]:
    for each in _people(client, name):
        if each["name"].casefold() == name.casefold():
            return each
    raise Unusable(f"There is no account named {name!r}.")


def _people(client: Client, search: str) -> list[dict[str, Any]]:
    pages = client.pages_of("people", q=search or None)
    return [person for page in pages for person in page["people"]]

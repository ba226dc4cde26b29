"""`fairboard user` and `token`: accounts, reset links, invitations, API tokens."""

from typing import Any

import click

from grader.cli.group import PartlyLocalGroup, SubcommandGroup
from grader.cli.organize.acts import act_for_user, act_on_site, installation_of
from grader.client import Client, Unusable
from grader.text import aligned

SCOPES = ("read", "submit", "organize", "admin")
LOCAL = {
    "admin": ("grader.cli.organize.local", "Make the account NAME an administrator of the site."),
    "create": ("grader.cli.organize.local", "Create the account NAME and print its generated password."),
    "login-link": (
        "grader.cli.organize.local",
        "Print a link that logs NAME in; it works only once and expires after a day.",
    ),
}


@click.group(cls=PartlyLocalGroup, local=LOCAL)
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


@user.command("reset-second-factors")
@click.argument("name")
@act_on_site
def reset_second_factors(client: Client, name: str) -> tuple[Any, str]:
    """Remove the second factors and sessions of NAME, who can then log in without a second factor."""
    person = _person(client, name)
    client.call("POST", f"people/{person['id']}/reset-second-factors")
    return {"name": person["name"]}, f"{person['name']} can now log in without a second factor."


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
    here = installation_of(client)
    if here is not None and here.settings.sign_up == "closed":
        click.echo(
            "FAIRBOARD_SIGN_UP is `closed`. The links will work once you set it to `invite` or `open`.",
            err=True,
        )
    return {"invitations": made}, "\n".join(each["url"] for each in made)


@click.group(cls=SubcommandGroup)
def token() -> None:
    """Create, list and revoke API tokens."""


@token.command()
@click.argument("user")
@click.option("--name", default="shell", show_default=True, help="The name of the token.")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    help="A scope of the token; by default read and submit. May be repeated.",
)
@click.option("--competition", "slug", help="The only competition for which the token is valid.")
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    help="Number of days until the token expires; by default, it never expires.",
)
@act_for_user
def create(
    client: Client, user: str, name: str, scopes: tuple[str, ...], slug: str | None, days: int | None
) -> tuple[Any, str]:
    """Create an API token for USER and print it; it is not shown again.

    \b
    fairboard token create ada --name nightly --scope submit --days 30

    With --server, USER must be the owner of the token in use. The new token cannot have more scopes or expire
    later than that token.
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
    lines = [["id", "name", "starts with", "scopes", "expires"]]
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
    # A client of the local installation acts as this user.
    if installation_of(client) is not None:
        return
    asker = client.call("GET", "me")["name"]
    if asker != user:
        raise Unusable(
            "Over HTTP, you can only manage your own tokens: the token in use belongs to "
            f"{asker}, not {user}."
        )


def _person(client: Client, name: str) -> dict[str, Any]:
    for each in _people(client, name):
        if each["name"].casefold() == name.casefold():
            return each
    raise Unusable(f"There is no account named {name!r}.")


def _people(client: Client, search: str) -> list[dict[str, Any]]:
    pages = client.pages_of("people", q=search or None)
    return [person for page in pages for person in page["people"]]

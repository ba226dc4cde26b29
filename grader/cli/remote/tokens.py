"""`fairboard token` over HTTP: a person's own API tokens, made with the one that asks."""

from typing import Any

import click

from grader.cli.alignment import aligned
from grader.cli.group import SubcommandGroup
from grader.cli.remote.acts import act_over_http
from grader.client import Client, Unusable

SCOPES = ("read", "submit", "organize", "admin")


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
@act_over_http
def create(
    client: Client, user: str, name: str, scopes: tuple[str, ...], slug: str | None, days: int | None
) -> tuple[Any, str]:
    """Create an API token for USER and print it; it is not shown again.

    USER is the owner of the token that asks. The new one may do no more, and ends no later.
    """
    _require_own(client, user)
    sent = {"name": name, "scopes": scopes or SCOPES[:2], "competition": slug, "days": days}
    made = client.call("POST", "tokens", json=sent)
    return made, made["token"]


@token.command("list")
@click.argument("user")
@act_over_http
def list_(client: Client, user: str) -> tuple[Any, str]:
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
@act_over_http
def revoke(client: Client, user: str, token_id: int) -> tuple[Any, str]:
    """Revoke the API token TOKEN_ID of USER; `list` shows the ids."""
    _require_own(client, user)
    return client.call("DELETE", f"tokens/{token_id}"), ""


def _require_own(client: Client, user: str) -> None:
    asker = client.call("GET", "me")["name"]
    if asker != user:
        raise Unusable(f"Over HTTP a person has their own tokens only: this one is {asker}'s, not {user}'s.")

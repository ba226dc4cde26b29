"""`fairboard token`: create, list and revoke API tokens."""

from datetime import timedelta

import click

from grader import db
from grader.cli.alignment import aligned
from grader.cli.group import SubcommandGroup
from grader.cli.installation import opened
from grader.services.accounts import api_tokens
from grader.services.accounts.api_tokens import Scope
from grader.services.competitions import lookup
from grader.services.people import names


@click.group(cls=SubcommandGroup)
def token() -> None:
    """Create, list and revoke API tokens."""


@token.command()
@click.argument("user")
@click.option("--name", default="shell", show_default=True, help="What the token is for.")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice([scope.value for scope in Scope]),
    multiple=True,
    help="What the token may do; by default read and submit.",
)
@click.option("--competition", "slug", help="The token serves in this competition alone.")
@click.option(
    "--days",
    type=click.IntRange(1, 36_500),
    help=("The token expires after this many days; by default never."),
)
def create(user: str, name: str, scopes: tuple[str, ...], slug: str | None, days: int | None) -> None:
    """Create an API token for USER and print it; it is not shown again.

    \b
    fairboard token create ada --name nightly --scope submit --days 30
    """
    with opened() as installation, installation.database.write() as session:
        _, text = api_tokens.create(
            session,
            user=names.get_user(session, name=user),
            name=name,
            scopes=[Scope(scope) for scope in scopes] or api_tokens.USUAL_SCOPES,
            lifetime=None if days is None else timedelta(days=days),
            competition=lookup.get(session, slug=slug) if slug else None,
            now=db.now(session),
        )
    click.echo(text)


@token.command("list")
@click.argument("user")
def list_(user: str) -> None:
    """List the API tokens of USER."""
    lines = [["id", "name", "begins with", "may", "ends"]]
    with opened() as installation, installation.database.read() as session:
        for each in api_tokens.list_own(session, user=names.get_user(session, name=user)):
            ends = f"{each.expires_at:%Y-%m-%d %H:%M} UTC" if each.expires_at else "never"
            lines.append([str(each.id), each.name, each.prefix, " and ".join(each.scopes), ends])
    for line in aligned(lines, numbers=False):
        click.echo(line)


@token.command()
@click.argument("user")
@click.argument("token_id", type=int)
def revoke(user: str, token_id: int) -> None:
    """Revoke the API token TOKEN_ID of USER; `list` shows the ids."""
    with opened() as installation, installation.database.write() as session:
        account = names.get_user(session, name=user)
        api_tokens.revoke(session, user=account, token_id=token_id, now=db.now(session))

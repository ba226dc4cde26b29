"""`fairboard token`."""

import click

from grader import db
from grader.cli.installation import opened
from grader.services import accounts, tokens


@click.group()
def token() -> None:
    """Create API tokens."""


@token.command()
@click.argument("user")
@click.option("--name", default="shell", show_default=True, help="What the token is for.")
def create(user: str, name: str) -> None:
    """Create an API token for USER and print it; it is not shown again."""
    with opened() as installation, installation.database.write() as session:
        account = accounts.get(session, name=user)
        _, text = tokens.create(session, user=account, name=name, now=db.now(session))
    click.echo(text)

"""`fairboard user`."""

import click

from grader import db
from grader.cli.installation import opened
from grader.services import accounts


@click.group()
def user() -> None:
    """Create accounts."""


@user.command()
@click.argument("name")
@click.option("--admin", is_flag=True, help="Make it an administrator.")
def create(name: str, admin: bool) -> None:
    """Create the account NAME and print its generated password, which is not shown again."""
    with opened() as installation, installation.database.write() as session:
        passwords = accounts.password_hasher(installation.settings)
        account, password = accounts.create_user(
            session, name=name, passwords=passwords, is_admin=admin, now=db.now(session)
        )
    click.echo(f"The password of {account.name}, shown only now:", err=True)
    click.echo(password)

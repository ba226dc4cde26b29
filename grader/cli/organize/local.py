"""Commands without an API endpoint: accounts, administrators, login links."""

from urllib.parse import urlencode

import click

from grader import db
from grader.cli.installation import opened
from grader.services.accounts import accounts, administrators, logins
from grader.services.audit.log import Actor, operator
from grader.services.people import names


@click.command()
@click.argument("name")
@click.option("--admin", is_flag=True, help="Make the account an administrator.")
def create(name: str, admin: bool) -> None:
    """Create the account NAME and print its generated password, which is not shown again.

    \b
    fairboard user create ada --admin
    """
    with opened() as installation, installation.database.write() as session:
        passwords = accounts.password_hasher(installation.settings)
        account, password = accounts.create_user(
            session, name=name, passwords=passwords, is_admin=admin, now=db.now(session)
        )
    click.echo(f"The password of {account.name}, which is not shown again:", err=True)
    click.echo(password)


@click.command("admin")
@click.argument("name")
@click.option("--on/--off", "is_admin", default=True, help="Whether NAME is an administrator.")
def admin(name: str, is_admin: bool) -> None:
    """Make the account NAME an administrator of the site, or revoke this role with --off."""
    with opened() as installation, installation.database.write() as session:
        account = administrators.change(
            session,
            user=names.get_user(session, name=name),
            is_admin=is_admin,
            actor=Actor.shell(),
            now=db.now(session),
        )
    click.echo(f"{account.name} is {'an administrator' if is_admin else 'no longer an administrator'}.")


@click.command("login-link")
@click.argument("name")
@click.option("--next", "target", default="", help="The page of the site to open after login.")
def login_link(name: str, target: str) -> None:
    """Print a link that logs NAME in; it works only once and expires after a day."""
    with opened() as installation, installation.database.write() as session:
        account = names.get_user(session, name=name)
        token = logins.create_link(session, user=account, created_by=operator(), now=db.now(session))
    query = f"?{urlencode({'next': target}, errors='replace')}" if target else ""
    click.echo(installation.link(f"/login/{token}{query}"))

"""`fairboard user`: create users and administrators, reset links, invitations."""

from urllib.parse import urlencode

import click

from grader import db
from grader.cli.alignment import aligned
from grader.cli.group import SubcommandGroup
from grader.cli.installation import opened
from grader.services.accounts import accounts, administrators, logins, password_resets, sign_ups
from grader.services.audit.log import Actor, operator
from grader.services.people import names
from grader.settings import SignUp


@click.group(cls=SubcommandGroup)
def user() -> None:
    """Create and list accounts, invitations and password reset links."""


@user.command()
@click.argument("name")
@click.option("--admin", is_flag=True, help="Make it an administrator.")
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
    click.echo(f"The password of {account.name}, shown only now:", err=True)
    click.echo(password)


@user.command("list")
@click.option("--search", default="", help="Only names and addresses that contain this.")
def list_(search: str) -> None:
    """List the accounts by name."""
    lines, page, page_count = [["name", "e-mail", "since"]], 1, 1
    with opened() as installation, installation.database.read() as session:
        while page <= page_count:
            found = accounts.list_page(session, search=search, page=page)
            page, page_count = page + 1, found.page_count
            for account in found.rows:
                role = " (administrator)" if account.is_admin else ""
                unconfirmed = " (not confirmed)" if account.email and not account.email_verified_at else ""
                email = (account.email or "") + unconfirmed
                lines.append([account.name + role, email, f"{account.created_at:%Y-%m-%d}"])
    for line in aligned(lines, numbers=False):
        click.echo(line)


@user.command("admin")
@click.argument("name")
@click.option("--on/--off", "is_admin", default=True, help="Make NAME one, or an ordinary account again.")
def admin(name: str, is_admin: bool) -> None:
    """Make the account NAME an administrator of the site, or no longer one."""
    with opened() as installation, installation.database.write() as session:
        account = administrators.change(
            session,
            user=names.get_user(session, name=name),
            is_admin=is_admin,
            actor=Actor.shell(),
            now=db.now(session),
        )
    click.echo(f"{account.name} is {'an administrator' if is_admin else 'no administrator any more'}.")


@user.command("reset-link")
@click.argument("name")
def reset_link(name: str) -> None:
    """Print a link with which NAME sets a new password, once, within a day."""
    with opened() as installation, installation.database.write() as session:
        account = names.get_user(session, name=name)
        token = password_resets.create_link(session, user=account, created_by=operator(), now=db.now(session))
    click.echo(installation.link(f"/reset/{token}"))


@user.command("login-link")
@click.argument("name")
@click.option("--next", "target", default="", help="The page of the site to open after the login.")
def login_link(name: str, target: str) -> None:
    """Print a link that logs NAME in, once, within a day."""
    with opened() as installation, installation.database.write() as session:
        account = names.get_user(session, name=name)
        token = logins.create_link(session, user=account, created_by=operator(), now=db.now(session))
    click.echo(installation.link(f"/login/{token}" + (f"?{urlencode({'next': target})}" if target else "")))


@user.command()
@click.option("--count", default=1, show_default=True, type=click.IntRange(1, 1000), help="How many.")
def invite(count: int) -> None:
    """Print links that create one account each, within 14 days."""
    with opened() as installation, installation.database.write() as session:
        now = db.now(session)
        made = [sign_ups.invite(session, created_by=operator(), now=now) for _ in range(count)]
    for token in made:
        click.echo(installation.link(f"/sign-up/{token}"))
    if installation.settings.sign_up is SignUp.CLOSED:
        click.echo("They work once FAIRBOARD_SIGN_UP is `invite` or `open`: now it is `closed`.", err=True)

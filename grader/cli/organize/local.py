"""Commands that use the local site's database instead of its API."""

from datetime import timedelta
from urllib.parse import urlencode

import click

from grader import db
from grader.cli.installation import opened
from grader.models import LinkPurpose
from grader.services.competitions import acting, lookup
from grader.services.identity import (
    accounts,
    administrators,
    api_tokens,
    names,
    one_time_links,
    second_factors,
)
from grader.services.identity.api_tokens import USUAL_SCOPES, Scope
from grader.services.site.log import Actor


@click.command("create")
@click.argument("name")
@click.option("--admin", is_flag=True, help="Make the account an administrator.")
def create_user(name: str, admin: bool) -> None:
    """Create the account NAME and print its generated password, which is not shown again.

    \b
    fairboard user create ada --admin
    """
    with opened() as installation, installation.database.write() as session:
        passwords, password = accounts.password_hasher(installation.settings), accounts.new_password()
        account = accounts.sign_up(
            session, name=name, password=password, is_admin=admin, passwords=passwords, now=db.now(session)
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
        token = one_time_links.create(session, purpose=LinkPurpose.LOG_IN, user=account, now=db.now(session))
    query = f"?{urlencode({'next': target}, errors='replace')}" if target else ""
    click.echo(installation.link(f"/login/{token}{query}"))


@click.command("reset-second-factors")
@click.argument("name")
def reset_second_factors(name: str) -> None:
    """Remove the second factors and sessions of NAME, who can then log in without a second factor."""
    with opened() as installation, installation.database.write() as session:
        account = names.get_user(session, name=name)
        second_factors.reset(acting.of_site(session, Actor.shell(), db.now(session)), user=account)
    click.echo(f"{account.name} can now log in without a second factor.")


@click.command("create")
@click.argument("user")
@click.option("--name", default="shell", show_default=True, help="The name of the token.")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(Scope, case_sensitive=False),
    multiple=True,
    help="A scope of the token; by default read and submit. May be repeated.",
)
@click.option("--competition", "slug", help="The only competition for which the token is valid.")
@click.option("--days", type=click.IntRange(1, 36500), help="The number of days until the token expires.")
def create_token(user: str, name: str, scopes: tuple[Scope, ...], slug: str | None, days: int | None) -> None:
    """Create an API token for USER and print it; it is not shown again.

    \b
    fairboard token create ada --name nightly --scope submit --days 30
    """
    with opened() as installation, installation.database.write() as session:
        _, text = api_tokens.create(
            session,
            user=names.get_user(session, name=user),
            name=name,
            scopes=scopes or USUAL_SCOPES,
            competition=lookup.get(session, slug=slug) if slug else None,
            lifetime=timedelta(days=days) if days else None,
            now=db.now(session),
        )
    click.echo(text)

"""`fairboard competition organizer`, `accounts` and `audit`."""

import json
from pathlib import Path

import click

from grader import db
from grader.cli.alignment import aligned
from grader.cli.installation import opened
from grader.cli.parameters import LocalPath, text_of
from grader.models import AuditEntry, Role
from grader.services.accounts import accounts, class_accounts
from grader.services.audit import log
from grader.services.audit.log import Actor, AuditPage
from grader.services.competitions import lookup, organizers
from grader.services.people import names

FILE = LocalPath(exists=True, dir_okay=False)
ROLE = click.Choice([role.value for role in Role])


@click.group()
def organizer() -> None:
    """Choose who runs a competition: owners can do everything, editors all but this, viewers only look."""


@organizer.command()
@click.argument("slug")
@click.argument("user")
@click.option("--role", type=ROLE, default=Role.EDITOR.value, show_default=True, help="What USER may do.")
def add(slug: str, user: str, role: str) -> None:
    """Make the account USER an organizer of SLUG; an organizer gets the new role."""
    with opened() as installation, installation.database.write() as session:
        account = names.get_user(session, name=user)
        competition = lookup.get(session, slug=slug)
        given = any(
            each.user_id == account.id for each in organizers.list_all(session, competition=competition)
        )
        act = organizers.change if given else organizers.add
        act(
            session,
            competition=competition,
            user=account,
            role=Role(role),
            actor=Actor.shell(),
            now=db.now(session),
        )
    click.echo(f"{account.name} is {role} of {slug}.")


@organizer.command()
@click.argument("slug")
@click.argument("user")
def remove(slug: str, user: str) -> None:
    """Remove the account USER from the organizers of SLUG; one owner always stays."""
    with opened() as installation, installation.database.write() as session:
        account = names.get_user(session, name=user)
        organizers.remove(
            session,
            competition=lookup.get(session, slug=slug),
            user=account,
            actor=Actor.shell(),
            now=db.now(session),
        )
    click.echo(f"{account.name} is no longer an organizer of {slug}.")


@organizer.command("list")
@click.argument("slug")
def list_all(slug: str) -> None:
    """List the organizers of SLUG."""
    with opened() as installation, installation.database.read() as session:
        competition = lookup.get(session, slug=slug)
        found = organizers.list_all(session, competition=competition)
        lines = [[each.user.name, each.role.value, f"{each.added_at:%Y-%m-%d}"] for each in found]
    for line in aligned([["name", "role", "since"], *lines], numbers=False):
        click.echo(line)


@click.command("accounts")
@click.argument("slug")
@click.argument("names", type=FILE)
@click.option("--tokens", "with_tokens", is_flag=True, help="Print API tokens instead of links.")
def create_accounts(slug: str, names: Path, with_tokens: bool) -> None:
    """Create an account of SLUG for each line of the file NAMES, and print a link or token for each.

    They are shown only now. Links set a password, once, within 14 days.
    """
    with opened() as installation:
        password_hash = accounts.unknown_password(accounts.password_hasher(installation.settings))
        with installation.database.write() as session:
            made = class_accounts.create_all(
                session,
                competition=lookup.get(session, slug=slug),
                names=text_of(names).splitlines(),
                with_tokens=with_tokens,
                password_hash=password_hash,
                actor=Actor.shell(),
                now=db.now(session),
            )
        for each in made:
            link = installation.link(f"/reset/{each.link_token}")
            click.echo(f"{each.name},{each.api_token or link}")


@click.command("audit")
@click.argument("slug", required=False)
@click.option(
    "--action", default="", help=("Only this action, or all actions on a kind of thing, such as `team`.")
)
@click.option(
    "--by", "person", default="", help="Only actions of this account, or of an origin such as calendar."
)
@click.option("--page", default=1, show_default=True, type=click.IntRange(1), help="A page has 50 actions.")
def show_audit(slug: str | None, action: str, person: str, page: int) -> None:
    """Show who did what in SLUG, when and why; newest first.

    Without SLUG, show actions on the site as a whole and on drafts that have been deleted.
    """
    with opened() as installation, installation.database.read() as session:
        competition = lookup.get(session, slug=slug) if slug else None
        found = log.list_page(session, competition=competition, action=action, person=person, page=page)
        for entry in found.rows:
            for line in _lines(entry, found):
                click.echo(line)
    if found.page > found.page_count:
        click.echo(f"There is no page {found.page}; the last page is {found.page_count}.", err=True)
    elif found.page_count > 1:
        click.echo(f"Page {found.page} of {found.page_count}.", err=True)


def _lines(entry: AuditEntry, page: AuditPage) -> list[str]:
    by = entry.actor.name if entry.actor else entry.origin
    lines = [f"{entry.at:%Y-%m-%d %H:%M:%S} UTC  {by} {page.sentence(entry)}  ({entry.action})"]
    for name in [*entry.after, *(name for name in entry.before if name not in entry.after)]:
        before, after = (
            json.dumps(values.get(name), ensure_ascii=False) for values in (entry.before, entry.after)
        )
        lines.append(f"    {name}: {before} -> {after}")
    if entry.reason:
        lines.append(f"    reason: {entry.reason}")
    return lines

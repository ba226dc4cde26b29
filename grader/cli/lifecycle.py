"""`fairboard competition archive` and `unarchive`."""

import click

from grader.cli.installation import opened
from grader.services import competitions, lifecycle
from grader.services.audit import Actor


@click.command()
@click.argument("slug")
@click.option("--reason", default="", help="Why; it is kept in the audit.")
def archive(slug: str, reason: str) -> None:
    """Put SLUG away: it stays readable, takes no files, and leaves the first page's list."""
    with opened() as installation, installation.database.write() as session:
        competition = competitions.get(session, slug=slug)
        lifecycle.archive(session, competition=competition, actor=Actor.shell(), reason=reason)
    click.echo(f"{slug} is archived.")


@click.command()
@click.argument("slug")
@click.option("--reason", default="", help="Why; it is kept in the audit.")
def unarchive(slug: str, reason: str) -> None:
    """Bring SLUG back from the archive."""
    with opened() as installation, installation.database.write() as session:
        competition = competitions.get(session, slug=slug)
        found = lifecycle.unarchive(session, competition=competition, actor=Actor.shell(), reason=reason)
    click.echo(f"{slug} is {found.state} again.")

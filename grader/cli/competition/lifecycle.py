"""`fairboard competition archive`, `unarchive` and `delete`."""

import click

from grader import db
from grader.cli.installation import opened
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.setup import draft_deletion, lifecycle


@click.command()
@click.argument("slug")
@click.option("--reason", default="", help="Why; it is kept in the audit.")
def archive(slug: str, reason: str) -> None:
    """Put SLUG away: it stays readable, takes no files, and leaves the first page's list."""
    with opened() as installation, installation.database.write() as session:
        competition = lookup.get(session, slug=slug)
        lifecycle.archive(session, competition=competition, actor=Actor.shell(), reason=reason)
    click.echo(f"{slug} is archived.")


@click.command()
@click.argument("slug")
@click.option("--reason", default="", help="Why; it is kept in the audit.")
def unarchive(slug: str, reason: str) -> None:
    """Bring SLUG back from the archive."""
    with opened() as installation, installation.database.write() as session:
        competition = lookup.get(session, slug=slug)
        found = lifecycle.unarchive(session, competition=competition, actor=Actor.shell(), reason=reason)
    click.echo(f"{slug} is {found.state} again.")


@click.command()
@click.argument("slug")
@click.confirmation_option(prompt="Everything stored for the draft is deleted, and cannot come back. Delete?")
def delete(slug: str) -> None:
    """Delete the draft SLUG with its settings, solution and data files; one without any submission."""
    with opened() as installation, installation.database.write() as session:
        draft_deletion.delete_draft(
            session,
            competition=lookup.get(session, slug=slug),
            actor=Actor.shell(),
            now=db.now(session),
        )
    click.echo(f"{slug} is deleted.")

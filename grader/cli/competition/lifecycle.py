"""`fairboard competition archive`, `unarchive` and `delete`."""

import click

from grader import db
from grader.cli.installation import opened
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.setup import drafts, lifecycle


@click.command()
@click.argument("slug")
@click.option("--reason", default="", help="The reason; the audit shows it.")
def archive(slug: str, reason: str) -> None:
    """Archive SLUG: it stays readable, accepts no files, and is listed below the other competitions."""
    with opened() as installation, installation.database.write() as session:
        competition = lookup.get(session, slug=slug)
        lifecycle.archive(session, competition=competition, actor=Actor.shell(), reason=reason)
    click.echo(f"{slug} is archived.")


@click.command()
@click.argument("slug")
@click.option("--reason", default="", help="The reason; the audit shows it.")
def unarchive(slug: str, reason: str) -> None:
    """Unarchive SLUG."""
    with opened() as installation, installation.database.write() as session:
        competition = lookup.get(session, slug=slug)
        found = lifecycle.unarchive(session, competition=competition, actor=Actor.shell(), reason=reason)
    click.echo(f"{slug} is {found.state} again.")


@click.command()
@click.argument("slug")
@click.confirmation_option(
    prompt=("This deletes everything stored for the draft and cannot be undone. Delete?")
)
def delete(slug: str) -> None:
    """Delete the draft SLUG with its settings, solution and data files; one without any submission."""
    with opened() as installation, installation.database.write() as session:
        drafts.delete_draft(
            session,
            competition=lookup.get(session, slug=slug),
            actor=Actor.shell(),
            now=db.now(session),
        )
    click.echo(f"{slug} is deleted.")

"""`fairboard migrate`."""

import click

from grader.cli.installation import load_settings, opened_database
from grader.services import schema


@click.command()
def migrate() -> None:
    """Bring the database to the tables of this version; `fairboard serve` does so at its start."""
    with opened_database(load_settings()) as database:
        before = schema.current(database)
        schema.upgrade(database)
        after = schema.current(database)
    click.echo(
        f"The database is at {after}." if before == after else f"From {before or 'no tables'} to {after}."
    )

"""`fairboard migrate`: upgrade the database schema."""

import click

from grader.cli.installation import load_settings, opened_database, running_out_of_room_in_a_sentence
from grader.maintenance import backups, schema


@click.command()
@click.option("--without-backup", is_flag=True, help="Change older tables without a copy of the database.")
def migrate(without_backup: bool) -> None:
    """Bring the database's tables to this version; `fairboard serve` does this when it starts.

    First copies older tables to backups/ in the data folder.
    """
    settings = load_settings()
    with opened_database(settings) as database, running_out_of_room_in_a_sentence():
        before = schema.current(database)
        if without_backup:
            schema.upgrade(database)
        else:
            backups.migrate(settings, database, say=click.echo)
        after = schema.current(database)
    click.echo(
        f"The database is at {after}." if before == after else f"From {before or 'no tables'} to {after}."
    )

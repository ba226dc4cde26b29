"""`fairboard orphans`: list stored files that nothing refers to; the sweeper deletes them."""

import click

from grader import db
from grader.cli.installation import opened
from grader.storage import blobs
from grader.text import counted


@click.command()
@click.option("--delete", is_flag=True, help="Delete them.")
def orphans(delete: bool) -> None:
    """List blobs that no row has referred to for a day; the sweeper deletes them once a day."""
    with opened() as here:
        if delete:
            gone = blobs.collect(here.database, here.storage, is_sure=True)
            click.echo(f"Deleted: {counted(gone.count, 'blob')} ({counted(gone.size, 'byte')}).")
            return
        listed = list(here.storage.blobs())
        with here.database.read() as session:
            found = blobs.orphans(session, listed=listed, now=db.now(session))
    size = sum(blob.size for blob in found)
    click.echo(
        f"Named by no row: {counted(len(found), 'blob')} ({counted(size, 'byte')}); --delete deletes them."
    )
    for blob in found:
        click.echo(f"{blob.sha256}  {blob.size:>12,}  {blob.touched_at:%Y-%m-%d %H:%M} UTC")

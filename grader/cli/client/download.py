"""`fairboard download`: fetch the data files of a competition."""

from pathlib import Path

import click

from grader.cli.alignment import aligned
from grader.cli.client.connection import competition_option, connected, connection_options
from grader.cli.client.shown import progress, show_json
from grader.cli.parameters import LocalPath
from grader.text import megabytes


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@competition_option
@click.option(
    "--to",
    "folder",
    type=LocalPath(file_okay=False),
    help="The folder to download to, created if it does not exist; by default ./SLUG.",
)
@click.option("--force", is_flag=True, help="Replace files here that differ from the files of the server.")
@click.option("--list", "is_list", is_flag=True, help="List the files and download none.")
@connection_options
def download(
    names: tuple[str, ...],
    competition: str | None,
    folder: Path | None,
    force: bool,
    is_list: bool,
    server: str | None,
    as_json: bool,
) -> None:
    """Download the data files NAME of a competition, by default all.

    An interrupted download is resumed, and a file that is up to date is not downloaded again. A different
    file of the same name is not replaced without --force.
    """
    with connected(server, as_json=as_json, competition=competition) as client:
        files = [] if names and not is_list else client.data_files()
        paths: list[str] = []
        for name in () if is_list else names or [each.name for each in files]:
            with progress(name) as on_progress:
                paths.append(str(client.download(name, folder, replace=force, on_progress=on_progress)))
            if not as_json:
                click.echo(paths[-1])
    if as_json:
        show_json({"files": [each.data for each in files]} if is_list else {"paths": paths})
    elif is_list:
        for line in aligned([[each.name, megabytes(each.size_bytes or 0)] for each in files]):
            click.echo(line)

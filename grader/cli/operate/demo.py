"""`fairboard demo`: start the demo competition."""

import click

from grader.cli.installation import load_settings


@click.command()
@click.option("--check", is_flag=True, help="Check everything on a separate port and data folder, then stop.")
def demo(check: bool) -> None:
    """Serve a generated competition with a dozen honest models as teams, until Ctrl-C."""
    click.echo(
        "Starting the demo. The first time it takes about a minute."
    )  # before what takes seconds to import
    from grader.demo import run

    if not check:
        run.serve(load_settings(), click.echo)
        return
    disagreements = run.run_check(click.echo)
    if disagreements:
        raise click.ClickException("\n".join(disagreements))

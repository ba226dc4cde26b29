"""`fairboard team`: one's entry, team and limits in a competition; `--join` enters it."""

import click

from grader.cli.client.connection import competition_option, connected, connection_options
from grader.cli.client.shown import left, show_json
from grader.cli.client.submissions import show_selection
from grader.text import listed


@click.command()
@competition_option
@click.option("--join", is_flag=True, help="Join the competition first.")
@click.option("--accept-rules", type=click.IntRange(1), metavar="VERSION", help="The version you have read.")
@click.option("--code", help="The entry code, where the competition asks for one.")
@connection_options
def team(
    competition: str | None,
    join: bool,
    accept_rules: int | None,
    code: str | None,
    server: str | None,
    as_json: bool,
) -> None:
    """Show your entry, team, submissions left and selection in a competition."""
    with connected(server, as_json=as_json, competition=competition) as client:
        if join or accept_rules is not None or code is not None:
            client.join(accepted_rules_version=accept_rules, code=code)
        found = client.team()
    if as_json:
        show_json(found.data)
        return
    click.echo(f"Entry: {found.entry.replace('_', ' ')}.")
    if found.team:
        click.echo(f"Team {found.team.name}: {listed(found.team.members, most=20)}.")
    click.echo(left(found.limits))
    show_selection(found.selection)

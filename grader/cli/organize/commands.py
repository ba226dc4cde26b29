"""`fairboard competition`: the command group."""

import click

from grader.cli.group import CliEntry, CommandGroup
from grader.cli.organize import running, setup
from grader.cli.organize.calls import CALLS, ORGANIZERS

CHECK = CliEntry("grader.cli.metric.check", "Check a solution file before you create a competition.")


@click.group(cls=CommandGroup, sections={"Commands": {"check": CHECK}})
def competition() -> None:
    """Create, list, change, moderate and reveal competitions."""


@click.group(cls=CommandGroup)
def organizer() -> None:
    """Manage the organizers: owners, editors and viewers (read only)."""


for name, call in ORGANIZERS.items():
    organizer.add_command(call.command(name))
for name, call in CALLS.items():
    competition.add_command(call.command(name))
for command in (
    setup.create,
    setup.list_all,
    setup.settings,
    setup.apply,
    setup.change,
    setup.data,
    setup.metric_file,
    running.reveal,
    running.bundle,
    running.publish_solution,
    running.receipt,
    running.export,
    running.show_audit,
    organizer,
):
    competition.add_command(command)

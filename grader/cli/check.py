"""`fairboard competition check`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.metric_options import metric_options, metric_settings
from grader.cli.parameters import NameList, WeightsInAnyForm
from grader.cli.solution_report import describe_report
from grader.files import ColumnRole, PublicTable, Solution, guess_columns, read_public_table, read_solution
from grader.services import solution_findings, solutions
from grader.services.metric_choice import MIN_CLASS_ROWS, MetricChoice

if TYPE_CHECKING:
    from grader.metrics import Weights

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
KEY = b"`competition create` splits by the installation's own key"
STOPPED = 2


class ColumnWithRole(click.ParamType[tuple[str, ColumnRole]]):
    """A column and its role, as COLUMN=ROLE."""

    name = "column=role"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ColumnRole]:
        """Return the column and the role; an unknown role is a usage error that lists them."""
        column, separator, role = value.rpartition("=")
        known = [each.value for each in ColumnRole]
        if not separator or role not in known:
            self.fail(
                f"{value!r}: expected COLUMN=ROLE with one of the roles {', '.join(known)}.", param, ctx
            )
        return column, ColumnRole(role)


@click.command(cls=WeightsInAnyForm)
@click.argument("solution", type=FILE)
@click.option("--test", type=FILE, help="The test.csv of participants: its ids are compared.")
@click.option(
    "--role",
    "roles",
    type=ColumnWithRole(),
    multiple=True,
    metavar="COLUMN=ROLE",
    help=f"The role of a column, where the guess is wrong: {', '.join(role.value for role in ColumnRole)}.",
)
@click.option("--identities", type=NameList(), help="The identities in the score; by default the large ones.")
@click.option(
    "--min-class-rows",
    type=click.IntRange(1),
    default=MIN_CLASS_ROWS,
    show_default=True,
    help="How many rows of each class in each split make an identity large enough.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@metric_options
def check(
    solution: Path,
    test: Path | None,
    roles: tuple[tuple[str, ColumnRole], ...],
    identities: tuple[str, ...] | None,
    min_class_rows: int,
    as_json: bool,
    power: float,
    weights: "Weights",
    threshold: float,
) -> None:
    """Look a SOLUTION through before there is a competition: no server and no database is needed.

    Ends with 2 where something would stop a competition.
    """
    choice = MetricChoice(identities, min_class_rows, metric_settings(power, weights, threshold))
    read = _read(solution, dict(roles), choice)
    assessed = solutions.assess(read, split_key=KEY, choice=choice, test=_test(test, read))
    report = assessed.report
    click.echo(json.dumps(report, indent=2) if as_json else describe_report(report))
    if solution_findings.stops(report["findings"]):
        raise click.exceptions.Exit(STOPPED)


def _read(path: Path, chosen: dict[str, ColumnRole], choice: MetricChoice) -> Solution:
    """Read a solution with the guessed roles, the identities asked for and the roles that were given."""
    roles = {guess.name: guess.role for guess in guess_columns(path) if guess.name}
    roles |= {name: ColumnRole.IDENTITY for name in choice.identities or () if name in roles}
    for role in (ColumnRole.ID, ColumnRole.LABEL, ColumnRole.USAGE, ColumnRole.PAIR):
        if role in chosen.values():  # the guess gives way
            roles |= {name: ColumnRole.UNUSED for name, guessed in roles.items() if guessed is role}
    return read_solution(path, roles=roles | chosen, are_guessed=not chosen)


def _test(path: Path | None, solution: Solution) -> PublicTable | None:
    if path is None:
        return None
    return read_public_table(path, solution.row_ids, id_column=solution.roles.id or "id")

"""`fairboard competition check`: check a solution file and print its report."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.metric.metric_options import metric_options, metric_settings
from grader.cli.metric.solution_report import describe_report
from grader.cli.metric.solution_roles import read_with_roles, role_option
from grader.cli.parameters import INPUT_FILE, NameList, WeightsInAnyForm
from grader.files import ColumnRole, PublicTable, Solution, read_public_table
from grader.services.competitions.metric import MIN_CLASS_ROWS, MetricChoice
from grader.services.solutions import assessment, findings

if TYPE_CHECKING:
    from grader.metrics import Weights

KEY = b"`competition create` splits by the installation's own key"
STOPPED = 2


@click.command(cls=WeightsInAnyForm)
@click.argument("solution", type=INPUT_FILE)
@click.option("--test", type=INPUT_FILE, help="The participants' test.csv, to compare its ids.")
@role_option
@click.option(
    "--identities",
    type=NameList(),
    help=("The identities in the score; by default all that are large enough."),
)
@click.option(
    "--min-class-rows",
    type=click.IntRange(1),
    default=MIN_CLASS_ROWS,
    show_default=True,
    help="How many rows of each class in each split an identity needs to be large enough.",
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
    """Check a SOLUTION before you create a competition; this needs no server and no database.

    The exit code is 2 if the solution cannot be used.
    """
    choice = MetricChoice(
        identities=identities,
        min_class_rows=min_class_rows,
        metric=metric_settings(power, weights, threshold),
    )
    read = read_with_roles(solution, dict(roles), identities=identities)
    assessed = assessment.assess(read, split_key=KEY, choice=choice, test=_test(test, read))
    report = assessed.report
    click.echo(json.dumps(report, indent=2) if as_json else describe_report(report))
    if findings.stops(report["findings"]):
        raise click.exceptions.Exit(STOPPED)


def _test(path: Path | None, solution: Solution) -> PublicTable | None:
    if path is None:
        return None
    return read_public_table(path, solution.row_ids, id_column=solution.roles.id or "id")

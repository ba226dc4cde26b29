"""`fairboard competition check`: a report on a solution file."""

from pathlib import Path
from typing import Any

import click

from grader.cli.group import REJECTED
from grader.cli.output import CommandOutput, solution_lines
from grader.cli.parameters import (
    INPUT_FILE,
    any_metric_options,
    json_option,
    names_option,
    require_options_of,
    role_option,
)
from grader.files import (
    ColumnRole,
    guess_columns,
    read_public_table,
    with_named,
)
from grader.services.competitions.metric import MetricChoice, NamedMetric
from grader.services.solutions import assessment
from grader.services.solutions.report import stops

KEY = b"`competition create` splits by the installation's own key"


@click.command(context_settings={"show_default": True})
@click.argument("solution", type=INPUT_FILE)
@click.option("--test", type=INPUT_FILE, help="The participants' test.csv, whose ids are compared.")
@role_option
@names_option("--identities", "The identities in the score; by default, all that have enough rows.")
@json_option
@any_metric_options
def check(
    solution: Path,
    test: Path | None,
    roles: dict[str, ColumnRole],
    identities: tuple[str, ...] | None,
    as_json: bool,
    metric: str,
    **options: Any,
) -> None:
    """Check SOLUTION before you create a competition; no server or database is needed.

    The exit code is 2 if the solution cannot be used.
    """
    require_options_of(metric)
    others = {name: value for name, value in options.items() if value is not None}
    chosen = roles | dict.fromkeys(others.pop("groups", ()), ColumnRole.SLICE)
    chosen |= dict.fromkeys(identities or (), ColumnRole.IDENTITY)
    guesses = [each for each in guess_columns(solution) if each.name]
    guessed = {each.name: each.role for each in guesses}
    try:
        settings = NamedMetric.from_dict({"name": metric, **others})
        used = assessment.roles_for(settings, with_named(guessed, chosen), None)
        with solution.open("rb") as file:
            read, settings = assessment.read(file, settings, used, proposed=guessed.keys() - chosen.keys())
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    table = read_public_table(test, read.row_ids, id_column=read.roles.id or "id") if test else None
    choice = MetricChoice(identities=identities, metric=settings)
    unclear = [each.name for each in guesses if not each.is_explained and each.name not in chosen]
    undecided = unclear if settings.takes_identities else []
    report = assessment.assess(
        read, split_key=KEY, choice=choice, roles=used, undecided=undecided, test=table
    ).report
    code = REJECTED if stops(report["findings"]) else 0
    CommandOutput(report, solution_lines(report), code=code).show(as_json=as_json)

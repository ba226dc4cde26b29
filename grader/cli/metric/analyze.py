"""`fairboard analyze`: a report on data and models, created without a server."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from grader.cli.output import show_json
from grader.cli.parameters import (
    INPUT_FILE,
    OUTPUT_FILE,
    evaluation_options,
    metric_settings,
    role_option,
    undefined_option,
)
from grader.text import one_line

if TYPE_CHECKING:
    from grader.files import Solution
    from grader.reports import Material

LONGEST_NAME = 200  # characters of a file name in a report


@click.command(context_settings={"show_default": True})
@click.argument("solution", type=INPUT_FILE)
@click.argument("submission", type=INPUT_FILE, required=False)
@click.option(
    "--against",
    type=INPUT_FILE,
    help="The baseline: another submission for the same rows. Differences are SUBMISSION minus baseline.",
)
@click.option(
    "--fuzzed",
    type=(INPUT_FILE, INPUT_FILE),
    metavar="SOLUTION2 SUBMISSION2",
    help="The fuzzed solution and the predictions for it.",
)
@click.option("--html", "html", type=OUTPUT_FILE, help="HTML file to write the report to.")
@role_option
@click.option(
    "--split",
    type=click.Choice(["all", "public", "private"]),
    default="all",
    help="The rows of the solution to use.",
)
@click.option(
    "--background",
    type=click.Choice(["all", "annotated"]),
    default="all",
    help="The background of an identity: all rows that do not mention it, or only the annotated ones.",
)
@click.option(
    "--min-size",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Omit identities mentioned in fewer than N rows.",
)
@click.option(
    "--lowest",
    type=click.IntRange(0),
    default=5,
    metavar="K",
    help="Show charts of the K identities with the lowest values.",
)
@undefined_option("skip")
@evaluation_options
def analyze(**options: Any) -> None:
    """Analyze SUBMISSION against SOLUTION, or audit the data of SOLUTION without a model.

    \b
    fairboard analyze solution.csv submission.csv --html report.html
    fairboard analyze solution.csv ours.csv --against theirs.csv
    fairboard analyze solution.csv

    SUBMISSION may contain one column for each label of SOLUTION. The HTML report is a single file without
    scripts that works offline.
    """
    from grader.reports import analyse, html_page, plain_text

    chosen = SimpleNamespace(**options)
    if chosen.submission is None and (chosen.against or chosen.fuzzed):
        raise click.UsageError("--against and --fuzzed require a SUBMISSION.")
    inputs = _inputs(chosen, chosen.solution, chosen.submission, chosen.against)
    if chosen.fuzzed:
        inputs = replace(inputs, fuzzed=_inputs(chosen, chosen.fuzzed[0], chosen.fuzzed[1], None))
    try:
        analysis = analyse(inputs)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    if chosen.html is not None:
        chosen.html.write_text(html_page(analysis), encoding="utf-8")
        click.echo(f"Written: {chosen.html}", err=True)
    if chosen.as_json:
        show_json(analysis.as_dict())
    elif chosen.html is None:
        click.echo(plain_text(analysis))


def _inputs(chosen: SimpleNamespace, path: Path, submission: Path | None, against: Path | None) -> "Material":
    from grader.files import read_solution
    from grader.reports import Material

    solution = read_solution(path, label=chosen.label, identities=chosen.identities, named=chosen.roles)
    models = dict[str, Mapping[str, Any]]()
    for file in filter(None, (submission, against)):
        name = one_line(file.name, LONGEST_NAME)
        models[f"{name} (baseline)" if name in models else name] = _predictions(file, solution)
    return Material(
        solution,
        models,
        settings=metric_settings(vars(chosen)),
        split=chosen.split,
        background=chosen.background,
        minimum_size=chosen.min_size,
        lowest=chosen.lowest,
    )


def _predictions(path: Path, solution: "Solution") -> dict[str, Any]:
    """Read a submission; print its notes to stderr."""
    from grader.files import read_label_predictions

    predictions, notes = read_label_predictions(
        path, solution.row_ids, label=solution.roles.label, other_labels=tuple(solution.other_labels)
    )
    for note in notes:
        click.echo(f"Note on {path.name}: {note.message}", err=True)
    return predictions

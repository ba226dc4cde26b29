"""`fairboard analyze`: a report on data and models, created without a server."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.metric.solution_roles import read_with_roles, role_option
from grader.cli.parameters import (
    INPUT_FILE,
    OUTPUT_FILE,
    NameList,
    WeightsInAnyForm,
    metric_options,
    metric_settings,
    undefined_option,
)

if TYPE_CHECKING:
    from grader.files import ColumnRole, Solution
    from grader.metrics import UndefinedPolicy, Weights
    from grader.reports import Inputs

ORDERS = (
    "mean_auc",
    "subgroup_auc",
    "bpsn_auc",
    "bnsp_auc",
    "negative_aeg",
    "positive_aeg",
    "name",
    "category",
    "size",
    "share_positive",
)


@click.command(cls=WeightsInAnyForm)
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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with full precision.")
@click.option("--label", help="The label column; guessed if not specified.")
@click.option("--identities", type=NameList(), help="The identity columns; guessed if not specified.")
@role_option
@click.option(
    "--split",
    type=click.Choice(["all", "public", "private"]),
    default="all",
    show_default=True,
    help="The rows of the solution to analyze.",
)
@click.option(
    "--background",
    type=click.Choice(["all", "annotated"]),
    default="all",
    show_default=True,
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
    show_default=True,
    metavar="K",
    help="Show the K identities with the lowest values separately, with charts.",
)
@click.option(
    "--sort",
    "order",
    type=click.Choice(ORDERS),
    default="mean_auc",
    show_default=True,
    help="The column to sort identities by.",
)
@click.option(
    "--category",
    "categories",
    type=(str, NameList()),
    multiple=True,
    metavar="NAME IDENTITIES",
    help='A category of identities, such as --category religion "christian,jewish". May be repeated.',
)
@click.option(
    "--skew",
    "skewed",
    metavar="IDENTITY",
    help="Show how pinned AUC changes in 100 trials that each remove half of an identity's negative rows.",
)
@click.option(
    "--pair-columns",
    type=(str, str),
    default=("role", "group"),
    metavar="ROLE GROUP",
    help="The columns with the role and group of each row of a pair (WinoBias).",
)
@click.option(
    "--roles-of-pairs",
    type=(str, str),
    metavar="FIRST SECOND",
    help="The two roles in a pair; the rate is how often FIRST is scored higher. Rows with the roles "
    "original and "
    "fuzzed are twins.  [default: original fuzzed if the column contains them, otherwise anti pro]",
)
@click.option(
    "--cluster",
    metavar="COLUMN",
    help="A column of SOLUTION, such as the author or template, whose rows with equal values depend on each "
    "other. Intervals and tests take this into account.",
)
@undefined_option("skip")
@metric_options
def analyze(
    solution: Path,
    submission: Path | None,
    against: Path | None,
    fuzzed: tuple[Path, Path] | None,
    html: Path | None,
    as_json: bool,
    label: str | None,
    identities: tuple[str, ...] | None,
    roles: tuple[tuple[str, "ColumnRole"], ...],
    power: float,
    weights: "Weights",
    threshold: float,
    undefined: "UndefinedPolicy",
    cluster: str | None,
    **choices: Any,
) -> None:
    """Analyze SUBMISSION against SOLUTION, or audit the data of SOLUTION without a model.

    \b
    fairboard analyze solution.csv submission.csv --html report.html
    fairboard analyze solution.csv ours.csv --against theirs.csv
    fairboard analyze solution.csv

    SUBMISSION may contain one column for each label of SOLUTION. The HTML report is a single file without
    scripts that works offline.
    """
    from grader.reports import analyse, html_page, plain_text

    if submission is None and (against or fuzzed or cluster):
        raise click.UsageError("--against, --fuzzed and --cluster require a SUBMISSION.")

    def read(path: Path) -> "Solution":
        found = read_with_roles(
            path, dict(roles), label=label, identities=identities, only_these=True, cluster=cluster
        )
        for each in found.near_misses:
            click.echo(f"Warning: {each.sentence} Fix {path.name}, or give the column a --role.", err=True)
        return found

    settings = metric_settings(power, weights, threshold, undefined)
    choices["cluster"] = cluster
    inputs = _inputs(read(solution), submission, against, settings=settings, **choices)
    if fuzzed:
        # Comparisons with the fuzzed set do not show categories.
        alike = choices | {"categories": ()}
        counterpart = _inputs(read(fuzzed[0]), fuzzed[1], None, settings=settings, **alike)
        inputs = replace(inputs, fuzzed=counterpart)
    try:
        found = analyse(inputs)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    if html is not None:
        html.write_text(html_page(found), encoding="utf-8")
        click.echo(f"Written: {html}", err=True)
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=2))
    elif html is None:
        click.echo(plain_text(found))


def _inputs(
    solution: "Solution",
    submission: Path | None,
    against: Path | None,
    *,
    min_size: int,
    roles_of_pairs: tuple[str, str] | None,
    categories: tuple[tuple[str, tuple[str, ...]], ...],
    **choices: Any,
) -> "Inputs":
    from grader.reports import Inputs

    grouped = {name: category for category, names in categories for name in names}
    unknown = [name for name in grouped if name not in solution.identities]
    if unknown:
        raise click.UsageError(f"--category contains unknown identities: {', '.join(unknown)}.")
    return Inputs(
        solution,
        predictions=_predictions(submission, solution),
        others=_predictions(against, solution),
        names=(submission.name if submission else "", against.name if against else ""),
        minimum_size=min_size,
        roles=roles_of_pairs,
        categories=grouped,
        **choices,
    )


def _predictions(path: Path | None, solution: "Solution") -> dict[str, Any]:
    """Read a submission; print its notes to stderr."""
    from grader.files import read_label_predictions

    if path is None:
        return {}
    found = read_label_predictions(
        path, solution.row_ids, label=solution.roles.label, other_labels=tuple(solution.other_labels)
    )
    for note in found.notes:
        click.echo(f"Note on {path.name}: {note.message}", err=True)
    return found.by_label

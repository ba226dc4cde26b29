"""`fairboard competition check`: a report on a solution file."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from grader.cli.group import REJECTED
from grader.cli.output import CommandOutput
from grader.cli.parameters import (
    INPUT_FILE,
    OF_OTHERS,
    NameList,
    any_metric_options,
    json_option,
    metric_options,
    metric_settings,
    require_options_of,
    role_option,
)
from grader.files import (
    ColumnRole,
    guess_columns,
    read_public_table,
    read_solution,
    with_named,
)
from grader.services.competitions.metric import MIN_CLASS_ROWS, MetricChoice, NamedMetric
from grader.services.solutions import assessment
from grader.services.solutions.report import Level, stops
from grader.text import aligned

KEY = b"`competition create` splits by the installation's own key"


@click.command(context_settings={"show_default": True})
@click.argument("solution", type=INPUT_FILE)
@click.option("--test", type=INPUT_FILE, help="The participants' test.csv, whose ids are compared.")
@role_option
@click.option(
    "--identities",
    type=NameList(),
    help=("The identities in the score; by default, all that have enough rows."),
)
@click.option(
    "--min-class-rows",
    type=click.IntRange(MIN_CLASS_ROWS),
    default=MIN_CLASS_ROWS,
    help="The minimum number of rows of each class that an identity needs in each split.",
)
@json_option
@any_metric_options
@metric_options
def check(
    solution: Path,
    test: Path | None,
    roles: dict[str, ColumnRole],
    identities: tuple[str, ...] | None,
    min_class_rows: int,
    as_json: bool,
    metric: str,
    **options: Any,
) -> None:
    """Check SOLUTION before you create a competition; no server or database is needed.

    The exit code is 2 if the solution cannot be used.
    """
    named = roles
    if metric == "bias":
        require_options_of("bias")
        formula = metric_settings(options["power"], options["weights"], options["threshold"])
        choice = MetricChoice(
            identities=identities, min_class_rows=min_class_rows, metric=NamedMetric(formula=formula)
        )
        read: Any = read_solution(solution, identities=identities, named=named)
        id_column, used = read.roles.id, None
    else:
        given = {name: options[name] for name in OF_OTHERS if options[name] is not None}
        named |= dict.fromkeys(given.pop("groups", ()), ColumnRole.SLICE)
        guessed = {guess.name: guess.role for guess in guess_columns(solution) if guess.name}
        try:
            settings = NamedMetric.from_dict({"name": metric, **given})
            used = assessment.roles_for(settings, with_named(guessed, named), None)
            with solution.open("rb") as file:
                read, settings = assessment.read(file, settings, used)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        id_column = next((name for name, role in used.items() if role is ColumnRole.ID), None)
        choice = MetricChoice(min_class_rows=min_class_rows, metric=settings)
    table = read_public_table(test, read.row_ids, id_column=id_column or "id") if test else None
    report = assessment.assess(read, split_key=KEY, choice=choice, roles=used, test=table).report
    code = REJECTED if stops(report["findings"]) else 0
    CommandOutput(report, [describe_report(report)], code=code).show(as_json=as_json)


SPLIT_BY = {
    "usage": "by the column Usage",
    "keyed hash": "in half by a keyed hash, stratified by label and identity",
    "live solution": "as in the live solution",
}
HEADINGS = {Level.STOP: "Problems to fix:", Level.WARNING: "Warnings:", Level.NOTE: "Notes:"}
WIDTH = 100


def describe_report(report: Mapping[str, Any]) -> str:
    """Return a report as text for the terminal."""
    splits = ", ".join(
        f"{name} {split['rows']:,} rows"
        + ("" if "targets" in report else f" ({split['positives']:,} positive)")
        for name, split in report["splits"].items()
    )
    head, cells = (_of_targets if "targets" in report else _of_identities)(report)
    lines = [
        *head,
        f"Columns not used: {', '.join(report['unused_columns']) or 'none'}.",
        f"{report['rows']:,} rows, split {SPLIT_BY.get(report['split_by'], report['split_by'])}: {splits}; "
        f"{report['ignored_rows']:,} ignored.",
        *(["", *aligned(cells)] if len(cells) > 1 else []),
    ]
    for level, heading in HEADINGS.items():
        messages = [each["message"] for each in report["findings"] if each["level"] == level]
        lines += [f"\n{heading}"] if messages else []
        lines += [
            textwrap.fill(each, WIDTH, initial_indent="  - ", subsequent_indent="    ") for each in messages
        ]
    return "\n".join(lines)


def _of_targets(report: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the targets, and a table of the groups, of a solution for another metric than that of bias."""
    names = list(report["splits"])
    cells = [["column", "group", *(f"{name} rows" for name in names), "in the score"]]
    for line in report["groups"]:
        rows = [f"{line['rows'].get(name, 0):,}" for name in names]
        in_score = "yes" if line["in_score"] else line["why_not"] or "no"
        cells.append([line["column"], line["value"], *rows, in_score])
    return [f"Target: {', '.join(each['column'] for each in report['targets'])}."], cells


def _of_identities(report: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return sentences on the label and the identities, and a table of the identities."""
    kept = [*report["other_labels"], *(each["name"] for each in report["slices"])]
    kept += [report["pair"]] if report["pair"] else []
    cells = [["identity", *(f"{split} {kind}" for split in report["splits"] for kind in "+-")]]
    for line in report["identities"]:
        of_splits = [line[split] for split in report["splits"]]
        counts = [f"{split[kind]:,}" for split in of_splits for kind in ("positives", "negatives")]
        cells.append([line["name"], *counts])
    label = f"Label: {report['label']}. Used for analyses only: {', '.join(kept) or 'none'}."
    return [*report["summary"], label], cells

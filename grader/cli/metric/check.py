"""`fairboard competition check`: a report on a solution file."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from grader.cli.metric.any_metric import any_metric_options, require_bias_options
from grader.cli.metric.solution_roles import read_with_roles, role_option
from grader.cli.parameters import (
    INPUT_FILE,
    NameList,
    WeightsInAnyForm,
    metric_options,
    metric_settings,
)
from grader.files import ColumnRole, PublicTable, RowIds, guess_columns, read_public_table, with_named
from grader.services.competitions.metric import MIN_CLASS_ROWS, MetricChoice, NamedMetric
from grader.services.solutions import assessment
from grader.services.solutions.report import Level, stops
from grader.text import aligned

KEY = b"`competition create` splits by the installation's own key"
STOPPED = 2


@click.command(cls=WeightsInAnyForm)
@click.argument("solution", type=INPUT_FILE)
@click.option(
    "--test",
    type=INPUT_FILE,
    help="The participants' test.csv, whose ids are compared with those of the solution.",
)
@role_option
@click.option(
    "--identities",
    type=NameList(),
    help=("The identities in the score; by default, all that have enough rows."),
)
@click.option(
    "--min-class-rows",
    type=click.IntRange(1),
    default=MIN_CLASS_ROWS,
    help="The minimum number of rows of each class that an identity needs in each split.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@any_metric_options
@metric_options
def check(
    solution: Path,
    test: Path | None,
    roles: tuple[tuple[str, ColumnRole], ...],
    identities: tuple[str, ...] | None,
    min_class_rows: int,
    as_json: bool,
    metric: str,
    power: float,
    weights: Any,
    threshold: float,
    groups: tuple[str, ...] | None,
    **others: Any,
) -> None:
    """Check SOLUTION before you create a competition; no server or database is needed.

    The exit code is 2 if the solution cannot be used.
    """
    if metric == "bias":
        require_bias_options()
        choice = MetricChoice(
            identities=identities,
            min_class_rows=min_class_rows,
            metric=metric_settings(power, weights, threshold),
        )
        read = read_with_roles(solution, dict(roles), identities=identities)
        table = _test(test, read.row_ids, read.roles.id)
        report = assessment.assess(read, split_key=KEY, choice=choice, test=table).report
    else:
        given = {name: value for name, value in others.items() if value is not None}
        named_roles = dict(roles) | dict.fromkeys(groups or (), ColumnRole.SLICE)
        report = _named_report(solution, metric, given, named_roles, min_class_rows, test)
    click.echo(json.dumps(report, indent=2) if as_json else describe_report(report))
    if stops(report["findings"]):
        raise click.exceptions.Exit(STOPPED)


def _named_report(
    path: Path,
    metric: str,
    given: Mapping[str, Any],
    chosen: Mapping[str, ColumnRole],
    min_class_rows: int,
    test: Path | None,
) -> dict[str, Any]:
    """Return the report on a solution for a metric other than that of bias."""
    guessed = {guess.name: guess.role for guess in guess_columns(path) if guess.name}
    try:
        settings = NamedMetric.from_dict({"name": metric, **given})
        roles = assessment.roles_for(settings, with_named(guessed, chosen), None)
        with path.open("rb") as file:
            read, settings = assessment.read(file, settings, roles)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    ids = [name for name, role in roles.items() if role is ColumnRole.ID]
    table = _test(test, read.row_ids, ids[0] if ids else None)
    choice = MetricChoice(min_class_rows=min_class_rows, metric=settings)
    return assessment.assess(read, choice=choice, split_key=KEY, roles=roles, test=table).report


def _test(path: Path | None, row_ids: RowIds, id_column: str | None) -> PublicTable | None:
    return None if path is None else read_public_table(path, row_ids, id_column=id_column or "id")


SPLIT_BY = {
    "usage": "by the column Usage",
    "keyed hash": "in half by a keyed hash, stratified by label and identity",
    "live solution": "as in the live solution",
}
HEADINGS = {Level.STOP: "Problems to fix:", Level.WARNING: "Warnings:", Level.NOTE: "Notes:"}
WIDTH = 100


def describe_report(report: Mapping[str, Any]) -> str:
    """Return a report as text for the terminal."""
    if "targets" in report:
        return "\n".join([*_named_lines(report), *_findings(report)])
    lines = [
        *report["summary"],
        f"Label: {report['label']}. {_kept(report)}"
        f"Columns not used: {', '.join(report['unused_columns']) or 'none'}.",
        f"{report['rows']:,} rows, split {SPLIT_BY.get(report['split_by'], report['split_by'])}: "
        + ", ".join(_split_line(name, split) for name, split in report["splits"].items())
        + f"; {report['ignored_rows']:,} ignored.",
        "",
        *_table(report),
    ]
    return "\n".join([*lines, *_findings(report)])


def _named_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the targets, splits and groups of a solution for a metric other than that of bias."""
    yield f"Target: {', '.join(each['column'] for each in report['targets'])}."
    yield f"Columns not used: {', '.join(report['unused_columns']) or 'none'}."
    splits = ", ".join(f"{name} {split['rows']:,} rows" for name, split in report["splits"].items())
    yield (
        f"{report['rows']:,} rows, split {SPLIT_BY.get(report['split_by'], report['split_by'])}: {splits}; "
        f"{report['ignored_rows']:,} ignored."
    )
    if report["groups"]:
        yield ""
        names = list(report["splits"])
        cells = [["column", "group", *(f"{name} rows" for name in names), "in the score"]]
        for line in report["groups"]:
            rows = [f"{line['rows'].get(name, 0):,}" for name in names]
            cells.append(
                [line["column"], line["value"], *rows, "yes" if line["in_score"] else line["why_not"] or "no"]
            )
        yield from aligned(cells)


def _findings(report: Mapping[str, Any]) -> Iterator[str]:
    for level, heading in HEADINGS.items():
        messages = [each["message"] for each in report["findings"] if each["level"] == level]
        if messages:
            yield f"\n{heading}"
        for message in messages:
            yield textwrap.fill(message, WIDTH, initial_indent="  - ", subsequent_indent="    ")


def _kept(report: Mapping[str, Any]) -> str:
    names = [*report["other_labels"], *(each["name"] for each in report["slices"])]
    names += [report["pair"]] if report["pair"] else []
    return f"Used for analyses only: {', '.join(names)}. " if names else ""


def _split_line(name: str, split: Mapping[str, int]) -> str:
    return f"{name} {split['rows']:,} rows ({split['positives']:,} positive)"


def _table(report: Mapping[str, Any]) -> list[str]:
    cells = [["identity", *(f"{split} {kind}" for split in report["splits"] for kind in "+-")]]
    for line in report["identities"]:
        cells.append([line["name"]])
        for split in report["splits"]:
            cells[-1] += [f"{line[split][kind]:,}" for kind in ("positives", "negatives")]
    return aligned(cells)

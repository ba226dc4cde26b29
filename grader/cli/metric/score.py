"""`fairboard score`: the score of a prediction file, computed without a server."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.group import REJECTED, lacking
from grader.cli.parameters import (
    INPUT_FILE,
    NameList,
    WeightsInAnyForm,
    from_jigsaw_option,
    metric_options,
    metric_settings,
    undefined_option,
)
from grader.errors import FairboardError

if TYPE_CHECKING:
    from grader.files import ColumnRoles, NearMiss, Note
    from grader.metrics import BiasReport, MetricSettings

ONE_MODEL = ""


@click.command(cls=WeightsInAnyForm)
@click.argument("solution", type=INPUT_FILE)
@click.argument("submission", type=INPUT_FILE, required=False)
@click.option("--label", help="The label column; by default target, label or toxicity.")
@click.option(
    "--identities",
    type=NameList(),
    help="The identity columns; by default, all other columns whose values are blank or between 0 and 1.",
)
@from_jigsaw_option
@click.option("--prediction", type=NameList(), help="Columns of SOLUTION to score instead of a SUBMISSION.")
@click.option(
    "--min-size",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Minimum number of Public and Private rows that must mention an identity for it to enter the "
    "score; other identities are only listed.",
)
@metric_options
@undefined_option("error")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with full precision.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["table", "csv", "markdown", "latex"]),
    help="The format of the report.  [default: table]",
)
def score(
    solution: Path,
    submission: Path | None,
    label: str | None,
    identities: tuple[str, ...] | None,
    from_jigsaw: Path | None,
    prediction: tuple[str, ...] | None,
    min_size: int,
    as_json: bool,
    format_name: str | None,
    **metric: Any,
) -> None:
    """Score SUBMISSION (id,prediction) against SOLUTION (id, label, identities, optional Usage).

    \b
    fairboard score solution.csv submission.csv --identities "male,female,middle eastern"
    fairboard score data.csv --label toxicity --prediction model_a,model_b
    fairboard score data.parquet --identities male,female --prediction model_a
    fairboard score --from-jigsaw FOLDER submission.csv

    CSV files may be compressed with gzip or zip; use - for standard input. With --format csv, the row without
    an identity contains a split's score, overall AUC and power means. The exit code is 2 if a file is
    rejected and 1 for any other error.
    """
    if from_jigsaw is not None and submission is None:
        solution, submission = from_jigsaw, solution
    elif from_jigsaw is not None:
        raise click.UsageError("With --from-jigsaw, specify only the SUBMISSION.")
    if (submission is None) == (prediction is None):
        raise click.UsageError("Specify either a SUBMISSION file or --prediction with columns of SOLUTION.")
    if as_json and format_name:
        raise click.UsageError("Specify either --json or --format, not both.")
    settings = metric_settings(**metric)
    try:
        outcome = _evaluate(solution, submission, prediction or (), label, identities, settings, min_size)
    except FairboardError as error:
        if as_json and (answer := _rejection(error)):
            click.echo(_json(answer))
            raise click.exceptions.Exit(REJECTED) from error
        raise
    for each in outcome.near_misses:
        click.echo(f"Warning: {each.sentence} Fix the column, or list the --identities.", err=True)
    if as_json:
        click.echo(_json(outcome.as_dict()))
    else:
        _print(outcome, format_name or "table")
    for line in outcome.undefined():
        click.echo(line, err=True)
    if not any(outcome.reports.values()):
        click.echo("The solution has no Public or Private rows, so there is nothing to score.", err=True)


@dataclass(frozen=True)
class _Outcome:
    roles: "ColumnRoles"
    near_misses: Sequence["NearMiss"]
    notes: Sequence["Note"]
    reports: Mapping[str, Mapping[str, "BiasReport"]]

    def as_dict(self) -> dict[str, Any]:
        models = {
            model: {"splits": {split: report.as_dict() for split, report in splits.items()}}
            for model, splits in self.reports.items()
        }
        result = models.get(ONE_MODEL, {"models": models})
        notes = [*(each.note for each in self.near_misses), *self.notes]
        return {**result, "notes": [note.as_dict() for note in notes]}

    def undefined(self) -> Iterator[str]:
        """Yield a line with the reason for each undefined value that affects a score."""
        for model, splits in self.reports.items():
            for split, report in splits.items():
                place = f"{model}, {split}" if model else split
                yield from (f"{place}: {cell}" for cell in report.undefined if cell.affects_score)


def _evaluate(
    solution_path: Path,
    submission_path: Path | None,
    models: Sequence[str],
    label: str | None,
    identities: Sequence[str] | None,
    settings: "MetricSettings",
    min_size: int,
) -> _Outcome:
    from grader.cli.metric.reports import Evaluation
    from grader.files import read_scored_table, read_solution, read_submission
    from grader.files.solution.parquet import MAGIC, ParquetTable
    from grader.metrics import count_chunks, report

    with solution_path.open("rb") as file:
        is_parquet = file.read(len(MAGIC)) == MAGIC
    if is_parquet:
        if submission_path is not None or identities is None:
            raise click.UsageError("A Parquet file needs --identities and --prediction with its columns.")
        try:
            table = ParquetTable.open(solution_path, predictions=models, identities=identities, label=label)
        except ModuleNotFoundError as error:
            raise lacking(error, "score with a Parquet file", "server") from error
        reports = {}
        for model in models:
            counts = count_chunks(table.chunks(model), settings=settings)
            lines = [n._replace(in_score=n.positives + n.negatives >= min_size) for n in counts.identities]
            reports[model] = {"all": report(replace(counts, identities=tuple(lines)), settings)}
        return _Outcome(table.roles, (), (), reports)
    if submission_path is None:
        data = read_scored_table(solution_path, predictions=models, label=label, identities=identities)
        evaluation = Evaluation.of(data, settings, min_size=min_size)
        reports = {model: evaluation.reports(data.predictions[model]) for model in models}
        return _Outcome(data.roles, data.near_misses, (), reports)
    solution = read_solution(solution_path, label=label, identities=identities)
    submission = read_submission(submission_path, solution.row_ids)
    evaluation = Evaluation.of(solution, settings, min_size=min_size)
    reports = {ONE_MODEL: evaluation.reports(submission.predictions)}
    return _Outcome(solution.roles, solution.near_misses, submission.notes, reports)


def _print(outcome: _Outcome, format_name: str) -> None:
    from grader.cli.metric.reports import FORMATS
    from grader.text import counted

    roles = outcome.roles
    click.echo(
        f"label: {roles.label}; {counted(len(roles.identities), 'identity column')}: "
        f"{', '.join(roles.identities) or 'none'}; "
        f"splits: {roles.usage or 'none'}; not used: {', '.join(roles.unused) or 'none'}",
        err=True,
    )
    for note in outcome.notes:
        click.echo(f"Note: {note.message}", err=True)
    click.echo(FORMATS[format_name](outcome.reports), nl=False)


def _rejection(error: FairboardError) -> dict[str, Any] | None:
    from grader.files import FileRejected

    if not isinstance(error, FileRejected):
        return None
    return {"file": error.file, "problems": [problem.as_dict() for problem in error.problems]}


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2)

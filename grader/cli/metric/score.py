"""`fairboard score`: the score of a prediction file, computed without a server."""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from grader.cli.group import REJECTED, UNMET
from grader.cli.metric.any_metric import any_metric_options, require_bias_options, score_any
from grader.cli.metric.solution_roles import role_option
from grader.cli.output import show_json
from grader.cli.parameters import (
    INPUT_FILE,
    NameList,
    evaluation_command,
    from_jigsaw_option,
    metric_settings,
    solution_files,
    undefined_option,
)

if TYPE_CHECKING:
    from fairboard import BiasReport
    from grader.files import ColumnRoles, Note

_RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_PARTS = re.compile(r"\s*([^<>=]+?)\s*(>=|<=|>|<)\s*([^<>=\s]+)\s*")

# Maps the name of each model, which is empty if there is only one, to its values. None is undefined.
Values = Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True)
class Requirement:
    """A limit on a value, such as ``bpsn_auc >= 0.9``."""

    term: str
    relation: str
    limit: float

    def __str__(self) -> str:
        return f"{self.term} {self.relation} {self.limit!r}"

    def is_met(self, value: float | None) -> bool:
        """Return whether a value is defined and within the limit."""
        return value is not None and _RELATIONS[self.relation](value, self.limit)


class RequirementText(click.ParamType):  # type: ignore[type-arg]
    """A requirement as text."""

    name = "'TERM >= X'"

    def convert(
        self, value: str | Requirement, param: click.Parameter | None, ctx: click.Context | None
    ) -> Requirement:
        if isinstance(value, Requirement):
            return value
        parts = _PARTS.fullmatch(value)
        try:
            limit = float(parts[3]) if parts else math.nan
        except ValueError:
            limit = math.nan
        if parts is None or not math.isfinite(limit):
            self.fail(f"{value!r} must be a term, >=, <=, > or <, and a number.", param, ctx)
        return Requirement(parts[1], parts[2], limit)


require_option = click.option(
    "--require",
    "requirements",
    type=RequirementText(),
    multiple=True,
    help="A limit on the score or a term on all scored rows, such as 'bpsn_auc >= 0.9'; also <=, > or "
    "<. If a value misses a limit or is undefined, the exit code is 6. May be repeated.",
)


def enforce(requirements: Sequence[Requirement], values: Values) -> None:
    """Print all requirements that are not met; exit with 6 if there are any.

    Raises
    ------
    UsageError
        If a model has no term with the name in a requirement.
    """
    failures = list(_failures(requirements, values))
    for sentence in failures:
        click.echo(sentence, err=True)
    if failures:
        raise click.exceptions.Exit(UNMET)


def _failures(requirements: Sequence[Requirement], values: Values) -> Iterator[str]:
    for model, terms in values.items():
        for each in requirements:
            if each.term not in terms:
                raise click.UsageError(f"--require: there is no {each.term!r}. Terms: {', '.join(terms)}.")
            if not each.is_met(terms[each.term]):
                value = terms[each.term]
                found = "undefined" if value is None else repr(value)
                place = f"{model}: " if model else ""
                yield f"{place}{each.term} is {found}, but the requirement is {each}."


ONE_MODEL = ""


@evaluation_command
@click.argument("solution", type=INPUT_FILE, required=False)
@click.argument("submission", type=INPUT_FILE, required=False)
@any_metric_options
@from_jigsaw_option
@role_option
@click.option("--prediction", type=NameList(), help="Columns of SOLUTION to score instead of a SUBMISSION.")
@click.option(
    "--min-size",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Minimum number of Public and Private rows that must mention an identity for it to enter the "
    "score; other identities are only listed.",
)
@undefined_option("error")
@require_option
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["table", "csv", "markdown"]),
    help="The format of the report.  [default: table]",
)
def score(**options: Any) -> None:
    """Score SUBMISSION (id,prediction) against SOLUTION (id, label, identities, optional Usage).

    With --metric, the columns of both files are those of that metric.

    \b
    fairboard score solution.csv submission.csv --identities "male,female,middle eastern"
    fairboard score solution.csv submission.csv --metric rmse --label price --groups region
    fairboard score data.csv --label toxicity --prediction model_a,model_b
    fairboard score solution.csv submission.csv --require "score >= 0.92" --require "bpsn_auc >= 0.9"
    fairboard score --from-jigsaw FOLDER submission.csv

    CSV files may be compressed with gzip or zip; use - for standard input. With --format csv, the row without
    an identity contains a split's score, overall AUC and power means. The exit code is 2 if a file is
    rejected, 6 if a requirement is not met and 1 for any other error.
    """
    from grader.files import FileRejected

    chosen = SimpleNamespace(**options)
    solution, submission = solution_files(chosen.from_jigsaw, chosen.solution, chosen.submission)
    is_bias = chosen.metric == "bias"
    if is_bias:
        require_bias_options()
    if is_bias and (submission is None) == (chosen.prediction is None):
        raise click.UsageError("Specify either a SUBMISSION file or --prediction with columns of SOLUTION.")
    if chosen.as_json and chosen.format_name:
        raise click.UsageError("Specify either --json or --format, not both.")
    try:
        if not is_bias:
            enforce(chosen.requirements, {ONE_MODEL: score_any(solution, submission, chosen)})
            return
        outcome = _evaluate(solution, submission, chosen)
    except FileRejected as error:
        if not chosen.as_json:
            raise
        show_json({"file": error.file, "problems": [problem.as_dict() for problem in error.problems]})
        raise click.exceptions.Exit(REJECTED) from error
    if chosen.as_json:
        show_json(outcome.as_dict())
    else:
        _print(outcome, chosen.format_name or "table")
    for model, splits in outcome.reports.items():
        for split, report in splits.items():
            for cell in report.undefined:
                if cell.affects_score:
                    click.echo(f"{model}, {split}: {cell}" if model else f"{split}: {cell}", err=True)
    if not any(outcome.reports.values()):
        click.echo("The solution has no Public or Private rows, so there is nothing to score.", err=True)
    enforce(chosen.requirements, {model: _required(splits) for model, splits in outcome.reports.items()})


def _required(splits: Mapping[str, "BiasReport"]) -> dict[str, float | None]:
    """Return the score and the terms on all scored rows, which are undefined if there are none."""
    from fairboard import BIAS_AUCS

    if report := splits.get("all"):
        return {"score": report.score, **report.terms}
    return dict.fromkeys(("score", "overall_auc", *BIAS_AUCS))


@dataclass(frozen=True)
class _Outcome:
    roles: "ColumnRoles"
    notes: Sequence["Note"]
    reports: Mapping[str, Mapping[str, "BiasReport"]]

    def as_dict(self) -> dict[str, Any]:
        from fairboard import METRIC_CODE_VERSION

        models = {
            model: {"splits": {split: report.as_dict() for split, report in splits.items()}}
            for model, splits in self.reports.items()
        }
        result = models.get(ONE_MODEL, {"models": models})
        result["metric_code_version"] = str(METRIC_CODE_VERSION)
        return {**result, "notes": [note.as_dict() for note in self.notes]}


def _evaluate(solution_path: Path, submission_path: Path | None, chosen: SimpleNamespace) -> _Outcome:
    from grader.cli.metric.reports import Evaluation
    from grader.files import read_scored_table, read_solution, read_submission

    settings = metric_settings(chosen.power, chosen.weights, chosen.threshold, chosen.undefined)
    columns = {"label": chosen.label, "identities": chosen.identities, "named": dict(chosen.roles)}
    models, min_size = chosen.prediction, chosen.min_size
    if submission_path is not None:
        solution = read_solution(solution_path, **columns)
        submission = read_submission(submission_path, solution.row_ids)
        evaluation = Evaluation.of(solution, settings, min_size=min_size)
        reports = {ONE_MODEL: evaluation.reports(submission.predictions)}
        return _Outcome(solution.roles, submission.notes, reports)
    data = read_scored_table(solution_path, predictions=models, **columns)
    evaluation = Evaluation.of(data, settings, min_size=min_size)
    reports = {model: evaluation.reports(each) for model, each in data.predictions.items()}
    return _Outcome(data.roles, (), reports)


def _print(outcome: _Outcome, format_name: str) -> None:
    from grader.cli.metric.reports import FORMATS
    from grader.text import counted

    roles = outcome.roles
    click.echo(
        f"label: {roles.label}; {counted(len(roles.identities), 'identity column')}: "
        f"{', '.join(roles.identities) or 'none'}; "
        f"splits: {roles.usage or 'none'}; only for analyses: {', '.join(roles.kept) or 'none'}; "
        f"not used: {', '.join(roles.unused) or 'none'}",
        err=True,
    )
    for note in outcome.notes:
        click.echo(f"Note: {note.message}", err=True)
    click.echo(FORMATS[format_name](outcome.reports), nl=False)

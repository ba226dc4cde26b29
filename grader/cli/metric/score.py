"""`fairboard score`: the score of a prediction file, computed without a server."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import click

from grader.cli.group import REJECTED, UNMET
from grader.cli.output import CommandOutput, show_json
from grader.cli.parameters import (
    INPUT_FILE,
    any_metric_options,
    evaluation_options,
    from_jigsaw_option,
    require_options_of,
    role_option,
    undefined_option,
)

_RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_PARTS = re.compile(r"\s*([^<>=]+?)\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")


class Requirement(NamedTuple):
    """A limit on a value, such as ``bpsn_auc >= 0.9``."""

    term: str
    relation: str
    limit: float


def _requirements(_context: Any, _parameter: Any, texts: Sequence[str]) -> list[Requirement]:
    requirements = []
    for text in texts:
        parts = _PARTS.fullmatch(text)
        if parts is None:
            raise click.BadParameter(f"{text!r} must be a term, >=, <=, > or <, and a number.")
        requirements.append(Requirement(parts[1], parts[2], float(parts[3])))
    return requirements


@click.command(context_settings={"show_default": True})
@click.argument("solution", type=INPUT_FILE, required=False)
@click.argument("submission", type=INPUT_FILE, required=False)
@any_metric_options
@from_jigsaw_option
@role_option
@click.option("--prediction", metavar="COLUMN", help="Column of SOLUTION to score instead of a SUBMISSION.")
@click.option(
    "--min-size",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Minimum number of Public and Private rows that must mention an identity for it to enter the "
    "score; other identities are only listed.",
)
@undefined_option("error")
@click.option(
    "--require",
    "requirements",
    multiple=True,
    callback=_requirements,
    help="A limit on the score or a term on all scored rows, such as 'bpsn_auc >= 0.9'; also <=, > or "
    "<. If a value misses a limit or is undefined, the exit code is 6. May be repeated.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["table", "csv", "markdown"]),
    help="The format of the report.  [default: table]",
)
@evaluation_options
def score(solution: Path | None, submission: Path | None, from_jigsaw: Path | None, **options: Any) -> None:
    """Score SUBMISSION (id,prediction) against SOLUTION (id, label, identities, optional Usage).

    With --metric, the columns of both files are those of that metric.

    \b
    fairboard score solution.csv submission.csv --identities "male,female,middle eastern"
    fairboard score solution.csv submission.csv --metric rmse --label price --groups region
    fairboard score data.csv --label toxicity --prediction model_a
    fairboard score solution.csv submission.csv --require "score >= 0.92" --require "bpsn_auc >= 0.9"
    fairboard score --from-jigsaw FOLDER submission.csv

    CSV files may be compressed with gzip or zip; use - for standard input. With --format csv, the row without
    an identity contains a split's score, overall AUC and power means. The exit code is 2 if a file is
    rejected, 6 if a requirement is not met and 1 for any other error.
    """
    from grader.cli.metric.outcomes import FORMATS, bias_outcome, metric_outcome
    from grader.files import FileRejected

    chosen = SimpleNamespace(**options)
    require_options_of(chosen.metric)
    files = [path for path in (from_jigsaw, solution, submission) if path is not None]
    if len(files) != (2 if chosen.prediction is None else 1):
        raise click.UsageError(
            "Specify a SOLUTION or --from-jigsaw, and either a SUBMISSION or --prediction with a column of "
            "SOLUTION."
        )
    if chosen.as_json and chosen.format_name:
        raise click.UsageError("Specify either --json or --format, not both.")
    try:
        outcome = (bias_outcome if chosen.metric == "bias" else metric_outcome)(chosen, *files)
    except FileRejected as error:
        if not chosen.as_json:
            raise
        show_json({"file": error.file, "problems": [problem.as_dict() for problem in error.problems]})
        raise click.exceptions.Exit(REJECTED) from error
    messages = [outcome.columns, *(f"Note: {note.message}" for note in outcome.notes)]
    text = FORMATS[chosen.format_name or "table"](outcome)
    CommandOutput(outcome.answer, errors=messages, text=text).show(as_json=chosen.as_json)
    unmet = list(failures(chosen.requirements, outcome.values))
    for sentence in (*outcome.warnings, *unmet):
        click.echo(sentence, err=True)
    if unmet:
        raise click.exceptions.Exit(UNMET)


def failures(requirements: Sequence[Requirement], values: Mapping[str, float | None]) -> Iterator[str]:
    """Yield a sentence for each requirement that is not met; raise UsageError for an unknown term."""
    for each in requirements:
        if each.term not in values:
            raise click.UsageError(f"--require: there is no {each.term!r}. Terms: {', '.join(values)}.")
        value = values[each.term]
        if value is None or not _RELATIONS[each.relation](value, each.limit):
            actual = "undefined" if value is None else repr(value)
            limit = f"{each.term} {each.relation} {each.limit!r}"
            yield f"{each.term} is {actual}, but the requirement is {limit}."

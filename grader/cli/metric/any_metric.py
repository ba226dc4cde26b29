"""`fairboard score --metric`: the values of any built-in metric, with groups."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from grader.cli.output import show_json
from grader.cli.parameters import NameList, options

if TYPE_CHECKING:
    from fairboard.interface import MetricResult
    from grader.files import Note
    from grader.scored_files import MetricSolution

_NOT_FOR_BIAS = {
    "columns": "--columns",
    "classes": "--classes",
    "positive": "--positive",
    "cutoff": "--cutoff",
    "groups": "--groups",
    "reported": "--reported",
}
_ONLY_FOR_BIAS = {
    "identities": "--identities",
    "roles": "--role",
    "prediction": "--prediction",
    "from_jigsaw": "--from-jigsaw",
    "power": "--power",
    "weights": "--weights",
    "threshold": "--threshold",
    "min_size": "--min-size",
    "undefined": "--undefined",
}


def _checked(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    """Return the name of a metric; fail with a list of all names if it is unknown."""
    if name in (None, "bias"):
        return name
    from grader.metrics.registry import METRICS

    if name not in METRICS:
        raise click.BadParameter(
            f"There is no metric {name!r}. Metrics: bias, {', '.join(METRICS)}.", ctx, param
        )
    return name


any_metric_options = options(
    click.option(
        "--metric",
        callback=_checked,
        metavar="NAME",
        default="bias",
        help="The metric, such as rmse or macro_f1. An unknown name lists all. The options --columns, "
        "--classes, --positive, --cutoff, --groups and --reported are for metrics other than bias.",
    ),
    click.option(
        "--columns", type=NameList(), help="The columns of a metric that is a mean over several columns."
    ),
    click.option(
        "--classes", type=NameList(), help="All classes in their order; by default, those of the solution."
    ),
    click.option("--positive", metavar="CLASS", help="The positive class; by default, the last one."),
    click.option(
        "--cutoff", type=click.IntRange(1), default=5, metavar="K", help="The number of classes for MAP@k."
    ),
    click.option("--groups", type=NameList(), help="Columns that divide the rows into groups."),
    click.option("--reported", type=NameList(), help="Further metrics for the same columns."),
)


@dataclass(frozen=True)
class MetricOutcome:
    """The values of a submission on each split."""

    solution: "MetricSolution"
    notes: "Sequence[Note]"
    results: "Mapping[str, MetricResult]"

    def as_dict(self) -> dict[str, Any]:
        """Return all values as JSON data."""
        about = self.solution.description
        return {
            "metric": self.solution.metric.name,
            "version": self.solution.metric.version,
            "direction": about.direction,
            "exactness": about.exactness,
            "splits": {split: self._split(split, each) for split, each in self.results.items()},
            "notes": [note.as_dict() for note in (*self.solution.notes, *self.notes)],
        }

    def _split(self, split: str, result: "MetricResult") -> dict[str, Any]:
        return {
            "rows": self.solution.splits[split][0],
            "score": result.score,
            "terms": dict(result.terms),
            "groups": {column: dict(groups) for column, groups in result.groups.items()},
        }

    def lines(self) -> list[list[str]]:
        """Return a table with a line for each split and value, and for each group."""
        lines = [["split", "column", "group", "value of", "rows", "value"]]
        for split, result in self.results.items():
            rows = str(self.solution.splits[split][0])
            for name, value in {"score": result.score, **result.terms}.items():
                lines.append([split, "", "", name, rows, repr(value)])
            for column, groups in result.groups.items():
                for group, each in groups.items():
                    lines.append([split, column, group, "score", str(each["rows"]), repr(each["score"])])
        return lines


def require_bias_options() -> None:
    """Raise UsageError if an option for other metrics was given."""
    if wrong := _specified(_NOT_FOR_BIAS):
        raise click.UsageError(f"{', '.join(wrong)}: specify a --metric other than bias.")


def _specified(names: Mapping[str, str]) -> list[str]:
    source_of = click.get_current_context().get_parameter_source
    return [option for name, option in names.items() if source_of(name) is ParameterSource.COMMANDLINE]


def read_for(solution: Path, chosen: SimpleNamespace) -> "MetricSolution":
    """Return the solution prepared for the chosen metric; raise UsageError for an option of bias."""
    from fairboard.interface import Options
    from grader.scored_files import read_for_metric

    if wrong := _specified(_ONLY_FOR_BIAS):
        raise click.UsageError(f"{', '.join(wrong)}: only for the metric bias.")
    settings = Options(chosen.columns or (), chosen.classes or (), chosen.positive, chosen.cutoff)
    others = {"groups": chosen.groups or (), "reported": chosen.reported or ()}
    try:
        return read_for_metric(solution, chosen.metric, settings, target=chosen.label, **others)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def score_any(solution: Path, submission: Path | None, chosen: SimpleNamespace) -> dict[str, float | None]:
    """Score a submission with a metric other than that of bias; return the values on all scored rows."""
    from grader.files import read_submission

    if submission is None:
        raise click.UsageError("Specify a SUBMISSION file.")
    prepared = read_for(solution, chosen)
    file = read_submission(submission, prepared.solution.row_ids, wanted=prepared.columns)
    outcome = MetricOutcome(prepared, file.notes, prepared.results(file))
    if chosen.as_json:
        show_json(outcome.as_dict())
    else:
        _describe(prepared)
        for note in (*prepared.notes, *outcome.notes):
            click.echo(f"Note: {note.message}", err=True)
        click.echo(FORMATS[chosen.format_name or "table"](outcome), nl=False)
    result = outcome.results.get("all")
    return {"score": None} if result is None else {"score": result.score, **result.terms}


def _describe(prepared: "MetricSolution") -> None:
    about, solution = prepared.description, prepared.solution
    parts = {
        "best": about.direction,
        "target": ", ".join(solution.names),
        "classes": ", ".join(prepared.options.classes),
        "splits": "Public and Private" if solution.usage is not None else "",
        "groups": ", ".join(solution.slices),
        "not used": ", ".join(solution.roles.unused),
    }
    named = [f"{name}: {text or 'none'}" for name, text in parts.items()]
    click.echo("; ".join([about.title, *named]), err=True)


def _as_table(outcome: MetricOutcome) -> str:
    from fairboard.groups import worst
    from grader.text import aligned

    decimals = outcome.solution.description.decimals
    header, *lines = outcome.lines()
    shown = [[*line[:5], f"{float(line[5]):.{decimals}f}"] for line in lines]
    used = [place for place in range(len(header)) if any(line[place] for line in shown)]
    text = aligned([[line[place] for place in used] for line in (header, *shown)])
    for split, result in outcome.results.items():
        for column, groups in result.groups.items():
            if lowest := worst(groups, outcome.solution.description.direction):
                name, gap = lowest
                text.append(f"{split}, {column}: {name} is the worst group; gap {gap:.{decimals}f}")
    return "".join(f"{line}\n" for line in text)


def _as_csv(outcome: MetricOutcome) -> str:
    from grader.text import csv_lines

    return csv_lines(outcome.lines(), line_end="\n")


def _as_markdown(outcome: MetricOutcome) -> str:
    from grader.text import in_markdown, markdown_table

    header, *lines = outcome.lines()
    return markdown_table([header, *([in_markdown(each) for each in line] for line in lines)])


FORMATS: Mapping[str, Callable[[MetricOutcome], str]] = {
    "table": _as_table,
    "csv": _as_csv,
    "markdown": _as_markdown,
}

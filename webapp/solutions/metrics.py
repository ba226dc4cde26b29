"""Metrics to choose from in the setup, with what participants send and see."""

from functools import cache
from typing import NamedTuple

from fairboard.interface import ColumnKind, Description, Direction, Exactness, Options
from grader.metrics import registry
from grader.scored_files import predicted_columns
from grader.services.competitions.metric import NamedMetric

BIAS_SOLUTION = """\
id,toxicity,female,muslim,Usage
7000000,0,1,,Public
7000001,0.8,0,1,Private"""
_COLUMNS, _CLASSES = ("height", "weight"), ("cat", "dog")
_EXAMPLE = Options(columns=_COLUMNS, classes=_CLASSES, positive="dog")
_SENT = {
    ColumnKind.NUMBER: "a number for each row",
    ColumnKind.CLASS: "a class for each row",
    ColumnKind.CLASSES: "a list of classes for each row",
}


class MetricOption(NamedTuple):
    """A metric in the list, what participants send, and an example of a submission, if it is known."""

    about: Description
    sent: str
    sample: str = ""


_PYTHON = MetricOption(
    Description(
        "Your own function",
        "A function in a metric.py, which you upload below.",
        Direction.HIGHEST,
        Exactness.OPAQUE,
        truth=(),
        predictions=(),
    ),
    sent="the columns of a sample submission",
)


@cache
def options() -> dict[str, MetricOption]:
    """Return all metrics by name, the default first."""
    abouts = {registry.BIAS: registry.default()}
    abouts |= {name: registry.metric(name, _EXAMPLE).describe() for name in registry.METRICS}
    return {name: _option(about) for name, about in abouts.items()} | {registry.PYTHON: _PYTHON}


def _option(about: Description) -> MetricOption:
    wanted, kind = predicted_columns(about, _EXAMPLE), about.predictions[0].kind
    sent = _SENT[kind] if len(about.predictions) == 1 else "several numbers for each row"
    rows = [",".join((row_id, *(column.sample for column in wanted.columns))) for row_id in ("1", "2")]
    return MetricOption(about, sent, sample="\n".join([",".join(wanted.names), *rows]))


def sample_solution(metric: NamedMetric) -> str:
    """Return an example of a solution file for a metric."""
    if metric.takes_identities:
        return BIAS_SOLUTION
    if metric.is_python or metric.problems():
        return ""
    about = metric.describe()
    names = metric.columns or (metric.target or "target",)
    cells = ["2.5" if each.kind is ColumnKind.NUMBER else metric.options.classes[0] for each in about.truth]
    if about.truth[0].highest == 1:
        cells = ["1"] * len(cells)
    lines = [("id", *names, "country", "Usage"), ("1", *cells, "France", "Public")]
    return "\n".join(",".join(line) for line in [*lines, ("2", *cells, "Chile", "Private")])

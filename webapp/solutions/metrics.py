"""Metrics to choose from in the setup, with what participants send and see."""

from dataclasses import dataclass
from functools import cache

from fairboard.interface import ColumnKind, Description, Direction, Exactness, Options
from grader.metrics import registry
from grader.scored_files import predicted_columns
from grader.services.competitions.metric import NamedMetric
from webapp.presentation.terms import EXACTNESS

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


@dataclass(frozen=True, slots=True)
class MetricOption:
    """A metric in the list, with an example of a submission."""

    name: str
    title: str
    sentence: str
    direction: str
    exactness: str
    sent: str
    sample: str

    @property
    def words(self) -> str:
        """The text that the search field searches."""
        return f"{self.name} {self.title} {self.sentence} {self.sent}".casefold()


_PYTHON = MetricOption(
    name=registry.PYTHON,
    title="Your own function",
    sentence="A function in a metric.py, which you upload below.",
    direction="highest or lowest is best",
    exactness=EXACTNESS[Exactness.OPAQUE],
    sent="the columns of a sample submission",
    sample="",
)


@cache
def options() -> dict[str, MetricOption]:
    """Return all metrics by name, the default first."""
    abouts = {registry.BIAS: registry.default()}
    abouts |= {name: registry.metric(name, _EXAMPLE).describe() for name in registry.METRICS}
    return {name: _option(name, about) for name, about in abouts.items()} | {_PYTHON.name: _PYTHON}


def _option(name: str, about: Description) -> MetricOption:
    wanted = predicted_columns(about, _EXAMPLE)
    kind = about.predictions[0].kind
    sent = _SENT[kind] if len(about.predictions) == 1 else "several numbers for each row"
    rows = [",".join((row_id, *(column.sample for column in wanted.columns))) for row_id in ("1", "2")]
    return MetricOption(
        name=name,
        title=about.title,
        sentence=about.sentence,
        direction="lowest is best" if about.direction is Direction.LOWEST else "highest is best",
        exactness=EXACTNESS[about.exactness],
        sent=sent,
        sample="\n".join([",".join(wanted.names), *rows]),
    )


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

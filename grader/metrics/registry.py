"""The metrics by name; the only place that lists them."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

from fairboard.bias.metric import BiasMetric
from fairboard.bias.metric_settings import MetricSettings
from fairboard.groups import LEAST_ROWS, GroupedMetric, GroupRules
from fairboard.interface import (
    ColumnKind,
    Columns,
    Description,
    Metric,
    MetricResult,
    Options,
    RowArray,
    TermSpec,
    prepare_all,
    remarks_on,
)
from fairboard.metrics import METRICS as METRICS
from fairboard.metrics import metric as metric
from grader.files.submission.columns import ID, PREDICTION
from grader.metrics.python_metric import PythonMetric
from grader.sandbox import SandboxClient

TAG, BIAS, PYTHON = "name", BiasMetric.name, PythonMetric.name


def default() -> Description:
    """Describe the metric of new competitions."""
    return BiasMetric((), MetricSettings()).describe()


def is_python(settings: Mapping[str, Any]) -> bool:
    """Return whether the settings are those of a metric that organizers wrote."""
    return settings.get(TAG) == PYTHON


def is_default(settings: Mapping[str, Any]) -> bool:
    """Return whether the settings are those of the bias metric."""
    return TAG not in settings


def of_settings(
    settings: Mapping[str, Any], source: bytes | None = None, sandbox: SandboxClient | None = None
) -> Metric:
    """Return the metric of a scoring version's settings; those without a name are of the bias metric.

    A metric that organizers wrote needs the bytes of its metric.py and a sandbox, except to be described.
    """
    if is_default(settings):
        return BiasMetric.of(settings)
    scored: Metric = (
        PythonMetric.of(settings, source, sandbox)
        if is_python(settings)
        else metric(settings[TAG], options_of(settings))
    )
    if groups := tuple(settings.get("groups", ())):
        in_score = tuple((column, value) for column, value in settings["scored_groups"])
        scored = GroupedMetric(scored, GroupRules(groups, settings["weight"], in_score, LEAST_ROWS))
    return reporting(scored, settings.get(REPORTED, ()), options_of(settings))


def reporting(scored: Metric, reported: Sequence[str], options: Options) -> Metric:
    """Return a metric that also reports built-in ones; raise ValueError if their columns differ."""
    if not reported:
        return scored
    chosen = fitting(scored.name, options, reported)
    if wrong := [each for each in reported if each not in chosen or each == scored.name]:
        possible = ", ".join(each for each in fitting(scored.name, options) if each != scored.name) or "none"
        raise ValueError(
            f"{', '.join(wrong)} cannot be reported next to {scored.name}. Metrics for the same columns: "
            f"{possible}."
        )
    # The columns of a mean over columns are its terms, and the keys of its evidence.
    if taken := {REPORTED, *reported}.intersection(options.columns):
        raise ValueError(f"With reported metrics, no column can be called {', '.join(sorted(taken))}.")
    return ReportingMetric(scored, [metric(each, options) for each in reported])


def fitting(name: str, options: Options, among: Iterable[str] = METRICS) -> list[str]:
    """Return the built-in metrics for the same columns of solutions and submissions as another."""
    options = replace(options, positive=options.positive or next(reversed(options.classes), None))
    columns = dict[str, list[tuple[str, ColumnKind]]]()
    for each in (name, *among):
        with suppress(KeyError, ValueError):  # it does not exist, or needs other options
            about = METRICS[each](options).describe()
            columns[each] = [(column.name, column.kind) for column in (*about.truth, *about.predictions)]
    return [each for each in columns if columns[each] == columns.get(name)]


def option_names(name: str) -> frozenset[str]:
    """Return the names of the options that a metric takes, with `weight`, `target` and `reported`."""
    if name == BIAS:
        return frozenset()
    if name not in METRICS:
        return frozenset({"target", "weight"})
    usual = Options(columns=("a", "b"), classes=("0", "1"))
    about, names = metric(name, usual).describe(), {"weight", "decimals"}
    names.add("columns" if len(about.truth) > 1 else "target")
    names |= {"prediction"} if [each.name for each in about.predictions] == [PREDICTION] else set()
    names |= {"classes"} if about.truth[0].kind is not ColumnKind.NUMBER else set()
    names |= {"cutoff"} if about.truth[0].kind is ColumnKind.CLASSES else set()
    names |= {"positive"} if metric(name, replace(usual, positive="0")).describe() != about else set()
    return frozenset(names | ({"reported"} if len(fitting(name, usual)) > 1 else set()))


def names_of(settings: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the ids and of the only column of predictions in submissions."""
    if is_python(settings):
        return settings["python"]["id"], PREDICTION
    named = settings["metric"] if is_default(settings) else settings
    return named.get("id", ID), named.get("prediction", PREDICTION)


def options_of(settings: Mapping[str, Any]) -> Options:
    """Return the options in a scoring version's settings; the bias metric has none."""
    options = {each.name: settings[each.name] for each in fields(Options) if each.name in settings}
    lists = {name: tuple(each) for name, each in options.items() if isinstance(each, list)}
    return Options(**{**options, **lists})


REPORTED = "reported"


class ReportingMetric:
    """A metric with terms that are the scores of other metrics of the same columns.

    A reported metric that is undefined for the solution is a problem of the solution. One that does not
    accept a prediction of a file has no value for the file, because a file is checked for the score only.
    """

    def __init__(self, metric: Metric, reported: Sequence[Metric]) -> None:
        self._metric, self._all = metric, (metric, *reported)
        self.name, self.version = metric.name, metric.version
        self.encoding = "+".join(each.encoding for each in self._all)

    def describe(self) -> Description:
        """Describe the metric of the score, with a further term for each reported metric."""
        about = self._metric.describe()
        return replace(about, terms=(*about.terms, *(_term(each, about) for each in self._all[1:])))

    def encode(self, predictions: Columns) -> Any:
        """Encode the predictions for each metric, once if all are the same; None if a metric is undefined."""
        main = self._metric.encode(predictions)
        others = [each.encode(predictions) if _fits(each, predictions) else None for each in self._all[1:]]
        return main if all(each is main for each in others) else (main, *others)

    def remarks(self, predictions: Columns) -> list[str]:
        """Name the reported metrics that are undefined for the file, with the reason."""
        undefined = (each.describe() for each in self._all[1:] if not _fits(each, predictions))
        scored = self._metric.describe()
        return remarks_on(self._metric, predictions) + [
            f"{about.title} is reported only for files with all predictions {_limits(about, scored)}."
            for about in undefined
        ]

    def prepare(self, truth: Columns, rows: RowArray) -> list[Any]:
        """Prepare the rows for each metric; raise UnsuitableTruth with the reasons of all metrics."""
        reported = ((f"{each.describe().title} (reported): ", each, truth) for each in self._all[1:])
        return prepare_all([("", self._metric, truth), *reported], rows)

    def score(self, prepared: list[Any], encoded: Any) -> MetricResult:
        """Compute the values of one file on one split."""
        files = encoded if isinstance(encoded, tuple) else (encoded,) * len(self._all)
        result = self._metric.score(prepared[0], files[0])
        parts = zip(self._all[1:], prepared[1:], files[1:], strict=True)
        results = {each.name: each.score(data, file) for each, data, file in parts if file is not None}
        return replace(
            result,
            terms={**result.terms, **{name: each.score for name, each in results.items()}},
            evidence={**result.evidence, REPORTED: {name: each.evidence for name, each in results.items()}},
        )


def _fits(metric: Metric, predictions: Columns) -> bool:
    """Return whether all predictions of a file are in the domain of a metric."""
    return all(
        column.lowest <= predictions[column.name].min() and predictions[column.name].max() <= column.highest
        for column in metric.describe().predictions
        if column.kind is ColumnKind.NUMBER
    )


def _limits(about: Description, scored: Description) -> str:
    """Return the domain of the predictions if it is smaller than that of the score."""
    column, wider = about.predictions[0], scored.predictions[0]
    limits = [f"at least {column.lowest:g}"] if column.lowest > wider.lowest else []
    limits += [f"at most {column.highest:g}"] if column.highest < wider.highest else []
    return " and ".join(limits)


def _term(metric: Metric, scored: Description) -> TermSpec:
    about = metric.describe()
    limits = _limits(about, scored)
    only = f", only for files with all predictions {limits}" if limits else ""
    return TermSpec(
        metric.name,
        about.title,
        about.direction,
        heading=about.title.partition("(")[2].removesuffix(")") or about.title,
        rows=f"{about.title}: reported, does not count{only}",
    )

"""The metrics by name; the only place that lists them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from grader.metrics.bias.metric import BiasMetric
from grader.metrics.bias.metric_settings import MetricSettings
from grader.metrics.classification import CLASSIFICATION
from grader.metrics.columns import COLUMNS
from grader.metrics.groups import GroupedMetric, GroupRules
from grader.metrics.interface import ColumnKind, Description, Metric, Options
from grader.metrics.python_metric import PythonMetric
from grader.metrics.ranking import RANKING
from grader.metrics.regression import REGRESSION
from grader.metrics.reported import REPORTED, ReportingMetric
from grader.sandbox import SandboxClient

TAG, BIAS, PYTHON = "name", BiasMetric.name, PythonMetric.name
METRICS: Mapping[str, Callable[[Options], Metric]] = MappingProxyType(
    {each.name: each for each in (*CLASSIFICATION, *REGRESSION, *RANKING)}
    | {each.name: each for each in COLUMNS}
)


def metric(name: str, options: Options) -> Metric:
    """Return a built-in metric; raise ValueError if it does not exist or needs other options."""
    if name not in METRICS:
        raise ValueError(f"There is no metric {name!r}. Metrics: {', '.join(METRICS)}.")
    return METRICS[name](options)


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
        scored = GroupedMetric(scored, GroupRules(groups, settings["weight"], in_score))
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
    return ReportingMetric(scored, [chosen[each] for each in reported])


def fitting(name: str, options: Options, among: Iterable[str] = METRICS) -> dict[str, Metric]:
    """Return the built-in metrics for the same columns of solutions and submissions as another, by name."""
    metrics = dict[str, tuple[Metric, Any]]()
    for each in (name, *among):
        with suppress(KeyError, ValueError):  # it does not exist, or needs other options
            one = METRICS[each](options)
            metrics[each] = one, _columns(one)
    _, wanted = metrics.get(name, (None, None))
    return {each: one for each, (one, columns) in metrics.items() if columns == wanted}


def _columns(scored: Metric) -> list[tuple[str, ColumnKind]]:
    about = scored.describe()
    return [(each.name, each.kind) for each in (*about.truth, *about.predictions)]


def options_of(settings: Mapping[str, Any]) -> Options:
    """Return the options in a scoring version's settings; the bias metric has none."""
    if is_default(settings):
        return Options()
    options: dict[str, Any] = {
        option.name: tuple(each) if isinstance(each := settings[option.name], list) else each
        for option in fields(Options)
        if option.name in settings
    }
    return Options(**options)

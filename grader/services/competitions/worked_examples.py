"""Generated examples of metrics: six rows, and the scores of two files."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.metrics import registry
from grader.metrics.groups import GroupedMetric, GroupRules
from grader.metrics.interface import ColumnKind, ColumnSpec, Metric, MetricResult, Options
from grader.services.competitions.metric import NamedMetric

BINARY, NUMBERS = np.array([1, 0, 0, 1, 1, 0]), np.array([20, 40, 30, 60, 50, 25])
# The errors of each row, from 0 to 1.
FILES = {"A": np.array([0.1, 0.3, 0.2, 0.4, 0.1, 0.6]), "B": np.array([0.3, 0.7, 0.4, 0.6, 0.2, 0.8])}


@dataclass(frozen=True, slots=True)
class NamedExample:
    """The rows of the example of another metric, as texts, and the results of its two files."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    results: dict[str, MetricResult]


def named_example(named: NamedMetric) -> NamedExample | None:
    """Return an example with two files; None if the metric is not set up or organizers wrote it."""
    if named.is_python or named.problems():
        return None
    options = replace(named.options, columns=named.columns[:2], classes=named.options.classes[:3])
    metric: Metric = registry.metric(named.name, options)
    about = metric.describe()
    truth = {each.name: _truth(each, place, options) for place, each in enumerate(about.truth)}
    targets = dict(truth)
    target = named.target if len(truth) == 1 else None
    table = {target or each.name: _shown(truth[each.name], each, options) for each in about.truth}
    for column in set(named.groups[:1]) - set(truth):
        values = [value for name, value in named.scored_groups if name == column]
        first, second = (*values, "group 1", "group 2")[:2]
        truth[column] = np.array([first] * 3 + [second] * 3)
        table[column] = truth[column].tolist()
        metric = GroupedMetric(
            metric, GroupRules((column,), named.weight, ((column, first), (column, second)))
        )
    prepared = metric.prepare(truth, np.arange(BINARY.size))
    results = {}
    for name, errors in FILES.items():
        file = {each.name: _predicted(each, targets, errors, options) for each in about.predictions}
        table |= {
            f"{each.name}, file {name}": _shown(file[each.name], each, options) for each in about.predictions
        }
        results[name] = metric.score(prepared, metric.encode(file))
    return NamedExample(tuple(table), tuple(zip(*table.values(), strict=True)), results)


def _truth(column: ColumnSpec, place: int, options: Options) -> Any:
    if column.kind is ColumnKind.NUMBER:
        return np.roll(BINARY if column.highest == 1 else NUMBERS, place).astype(float)
    codes = np.arange(BINARY.size) % len(options.classes)
    return codes[:, None] if column.kind is ColumnKind.CLASSES else codes


def _predicted(column: ColumnSpec, truth: dict[str, Any], errors: Any, options: Options) -> Any:
    """Return predictions with the given errors; a class is wrong if the error is above one half."""
    values = truth.get(column.name, next(iter(truth.values())))
    count = len(options.classes)
    if column.kind is ColumnKind.CLASSES:
        start = values[:, 0] + (errors > 0.5)
        lists = (start[:, None] + np.arange(options.cutoff)) % count
        return np.where(np.arange(options.cutoff) < count, lists, -1)
    if column.kind is ColumnKind.CLASS:
        return (values + (errors > 0.5)) % count
    if values.dtype.kind == "i":  # a probability for each class
        code = options.classes.index(column.name)
        return np.where(values == code, 1 - errors, np.where((values + 1) % count == code, errors, 0.0))
    if set(values.tolist()) <= {0, 1}:
        return np.abs(values - errors)
    return values + 20 * errors * (-1) ** np.arange(errors.size)


def _shown(values: Any, column: ColumnSpec, options: Options) -> list[str]:
    if column.kind is ColumnKind.NUMBER:
        return [f"{value:g}" for value in values.round(2)]
    return [" ".join(options.classes[code] for code in np.atleast_1d(each) if code >= 0) for each in values]

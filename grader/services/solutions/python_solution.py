"""Stored solutions of metrics written in Python, and their setup check."""

from contextlib import closing
from typing import Any

import numpy as np

from fairboard.interface import ColumnKind, Columns
from grader.files import RowIds
from grader.metrics import registry
from grader.metrics.python_check import check_metric
from grader.metrics.python_metric import REASONS, MetricFailed, MetricSource, PythonMetric, PythonSettings
from grader.metrics.python_table import PythonTable
from grader.models import Split
from grader.sandbox import SandboxClient, SandboxUnavailable
from grader.services.competitions.metric import NamedMetric
from grader.services.solutions.truth import IGNORED, PUBLIC, Truth

# An endless loop ends after the time limit of one call; this limits the sum of all calls.
CHECK_SECONDS = 300


def columns_of(truth: Truth, row_ids: RowIds, settings: PythonSettings) -> Columns:
    """Return the columns of a stored solution with its ids, and texts instead of their codes."""
    columns = dict(truth.columns)
    for each in settings.truth:
        if each.kind is ColumnKind.TEXT:
            columns[each.name] = np.array(truth.classes, object)[truth.targets[each.name]]
    ids = np.array(list(row_ids), np.int64 if settings.id in settings.whole else object)
    return {**columns, settings.id: ids}


def python_checked(
    row_ids: RowIds, truth: Truth, sample: PythonTable | None, source: bytes, metric: NamedMetric
) -> tuple[NamedMetric, dict[str, Any], list[str]]:
    """Check a metric with a stored solution; return its complete settings, a report, and problems.

    Without a sample submission, predictions have the columns of the solution. The report is for organizers.
    """
    settings = PythonSettings.from_dict(metric.python or {})
    rows = np.flatnonzero(truth.usage != IGNORED)
    columns = columns_of(truth, row_ids, settings)
    known = {name: values[rows] for name, values in columns.items()}
    if sample is None:
        predicted = {each.name: known[each.name][np.zeros(rows.size, int)] for each in settings.truth}
    else:
        try:
            predicted = sample.at(row_ids.at(rows.tolist()))
        except ValueError as error:
            return metric, {}, [str(error)]
    text = MetricSource.of(source).text
    with closing(SandboxClient()) as first, closing(SandboxClient(hash_seed=1)) as second:
        try:
            for each in (first, second):
                each.start(text, seconds=CHECK_SECONDS)
        except SandboxUnavailable as error:
            return metric, {}, [str(error)]
        python = PythonMetric(MetricSource.of(source), settings, first)
        public = np.flatnonzero(truth.usage[rows] == PUBLIC)
        check = check_metric(python, second, known, predicted, public)
        problems = list(check.problems)
        metric = metric.model_copy(update={"python": check.settings.as_dict()})
        scored = registry.of_settings(metric.as_dict(), source, first)
        for split in Split if not problems else ():
            places_of_split = np.flatnonzero(np.isin(rows, truth.rows(split)))
            try:
                scored.score(scored.prepare(known, places_of_split), python.encode(predicted))
            except MetricFailed as failed:
                problems.append(
                    f"On the {split.value} rows, the metric {REASONS[failed.status]}.\n{failed.log}"
                )
    return metric, check.as_dict(), problems

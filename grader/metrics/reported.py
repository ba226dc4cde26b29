"""Metrics that are reported next to the score of another metric and never enter it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grader.metrics.interface import (
    ColumnKind,
    Columns,
    Description,
    Metric,
    MetricResult,
    RowArray,
    TermSpec,
    UnsuitableTruth,
)

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

    def prepare(self, truth: Columns, rows: RowArray) -> tuple[Any, ...]:
        """Prepare the rows for each metric; raise UnsuitableTruth with the reasons of all metrics."""
        prepared, problems = list[Any](), list[str]()
        for each in self._all:
            try:
                prepared.append(each.prepare(truth, rows))
            except UnsuitableTruth as error:
                named = f"{each.describe().title} (reported): " if each is not self._metric else ""
                problems += [named + problem for problem in error.problems]
        if problems:
            raise UnsuitableTruth(problems)
        return tuple(prepared)

    def score(self, prepared: tuple[Any, ...], encoded: Any) -> MetricResult:
        """Compute the values of one file on one split."""
        files = encoded if isinstance(encoded, tuple) else (encoded,) * len(self._all)
        result = self._metric.score(prepared[0], files[0])
        parts = zip(self._all[1:], prepared[1:], files[1:], strict=True)
        found = {each.name: each.score(data, file) for each, data, file in parts if file is not None}
        return replace(
            result,
            terms={**result.terms, **{name: each.score for name, each in found.items()}},
            evidence={**result.evidence, REPORTED: {name: each.evidence for name, each in found.items()}},
        )


def _fits(metric: Metric, predictions: Columns) -> bool:
    """Return whether all predictions of a file are in the domain of a metric."""
    return all(
        column.lowest <= predictions[column.name].min() and predictions[column.name].max() <= column.highest
        for column in metric.describe().predictions
        if column.kind is ColumnKind.NUMBER
    )


def _term(metric: Metric, scored: Description) -> TermSpec:
    about = metric.describe()
    column, wider = about.predictions[0], scored.predictions[0]
    limits = [f"at least {column.lowest:g}"] if column.lowest > wider.lowest else []
    limits += [f"at most {column.highest:g}"] if column.highest < wider.highest else []
    only = f", only for files with all predictions {' and '.join(limits)}" if limits else ""
    return TermSpec(
        metric.name,
        about.title,
        about.direction,
        heading=about.title.partition("(")[2].removesuffix(")") or about.title,
        rows=f"{about.title}: reported, does not count{only}",
        chance=getattr(metric, "chance", None),
    )

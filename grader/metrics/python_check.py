"""Setup check of a Python metric: whether it works and is reproducible."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairboard.interface import Columns, Direction, PreparedRows, RowArray
from grader.files.reading.problems import reading
from grader.files.solution.columns import USAGE_CODES
from grader.metrics.python_metric import (
    REASONS,
    MetricFailed,
    MetricSource,
    PythonMetric,
    PythonSettings,
    made_up_truth,
    package_versions,
    term_names,
)
from grader.metrics.python_table import PythonTable, settings_of
from grader.sandbox import CallOutcome, CallStatus, SandboxClient, layers

_TOLERANCE = 1e-9


@dataclass(eq=False)
class MetricCheck:
    """The setup check with its result, for organizers only, because it may contain labels.

    Attributes
    ----------
    metric, other : PythonMetric, SandboxClient
        The metric, and a sandbox with another hash seed.
    truth : mapping of str to ndarray
        The columns of the solution.
    problems, warnings : list of str
        The reasons why the metric cannot be used, and possible mistakes.
    scores : mapping of str to float
        The score of `sample`, `perfect`, `shuffled`, `constant` and `extreme` predictions, where defined.
    checks_files : bool
        Whether files can be checked before scoring, with made-up labels.
    seconds, memory_bytes
        The CPU time, and the memory in addition to that of the packages, for all rows.
    """

    metric: PythonMetric
    other: SandboxClient
    truth: Columns
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=dict)
    checks_files: bool = True
    seconds: float = 0.0
    memory_bytes: int = 0

    @property
    def _rows(self) -> RowArray:
        return np.arange(len(self.truth[self.metric.settings.id]))

    @property
    def settings(self) -> PythonSettings:
        """The settings with the terms."""
        return replace(self.metric.settings, checks_files=self.checks_files)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON data, with the layers of the sandbox and the versions of the packages."""
        names = ("problems", "warnings", "scores", "checks_files", "seconds", "memory_bytes")
        facts = {"terms": self.settings.terms, "sandbox": str(layers()), "packages": package_versions()}
        return {name: getattr(self, name) for name in names} | facts

    def measure(self, sample: Columns, made_up: PreparedRows) -> None:
        """Score the sample, perfect and damaged files, and compare the scores."""
        if problem := self._rejection(made_up, sample):
            self.checks_files = False
            self.warnings.append(f"Files cannot be checked before scoring. With generated labels: {problem}")
        if reason := self._fails("sample", sample):
            self.problems.append(f"With sample predictions, {reason}.")
        perfect = self._perfect(sample)
        if not perfect:
            self.warnings.append("Check the direction: the columns determine no perfect predictions.")
        elif reason := self._fails("perfect", perfect):  # true values may be no valid predictions
            self.warnings.append(f"Check the direction: with perfect predictions, {reason}.")
        for name, predictions in self._damaged(perfect if "perfect" in self.scores else sample).items():
            reason = self._fails(name, predictions)
            if reason and not (self.checks_files and self._rejection(made_up, predictions)):
                self.warnings.append(f"With {name} predictions, {reason}, which uses a submission.")
        self._check_direction()

    def _fails(self, name: str, predictions: Columns) -> str:
        """Score predictions; return the reason why they have no score, or an empty text."""
        score = self._score(predictions)
        if isinstance(score, str):
            return score
        self.scores[name] = score
        if name in ("sample", "shuffled") and not self.problems:
            self._check_reproducibility(name, predictions, score)
        return ""

    def _score(
        self, predictions: Columns, metric: PythonMetric | None = None, rows: RowArray | None = None
    ) -> float | str:
        metric, rows = metric or self.metric, self._rows if rows is None else rows
        try:
            return metric.score(metric.prepare(self.truth, rows), metric.encode(predictions)).score
        except MetricFailed as failed:
            return f"the metric {REASONS[failed.status]}"

    def _rejection(self, made_up: PreparedRows, predictions: Columns) -> str | None:
        try:
            return self.metric.check_file(made_up, self.metric.encode(predictions))
        except MetricFailed as failed:
            return str(failed)

    def _check_reproducibility(self, name: str, predictions: Columns, score: float) -> None:
        """Compare with a second run, another process and hash seed, and another order of the rows."""
        for metric, reason in (
            (self.metric, "time or random numbers"),
            (replace(self.metric, sandbox=self.other), "random numbers, id() or the order of a set"),
        ):
            again = self._score(predictions, metric)
            if again != score:
                self.problems.append(
                    f"The score of {name} predictions depends on {reason}: {score}, {again}."
                )
        again = self._score(predictions, rows=np.random.default_rng(0).permutation(self._rows))
        if isinstance(again, str) or abs(again - score) > _TOLERANCE * max(abs(score), 1):
            self.warnings.append(
                f"The {name} predictions' score depends on the order of the rows: {score}, {again}. Scoring "
                "always uses the order of the ids."
            )

    def _check_direction(self) -> None:
        best, is_highest = self.scores.get("perfect"), self.metric.settings.direction is Direction.HIGHEST
        for name, score in self.scores.items():
            if best is not None and (score > best if is_highest else score < best):
                self.problems.append(
                    f"The {'highest' if is_highest else 'lowest'} score is the best, but {name} predictions "
                    f"({score}) are better than perfect ones ({best}). Check the direction."
                )
        if best is not None and best == self.scores.get("shuffled"):
            self.warnings.append("Perfect and shuffled predictions have the same score.")

    def _perfect(self, sample: Columns) -> Columns:
        """Return predictions with the true values, or nothing if the columns' names do not tell them."""
        true = [name for name in self.truth if name != self.metric.settings.id]
        if set(sample) <= set(true):
            true = list(sample)
        elif not len(true) == len(sample) == 1:
            return {}
        perfect = {name: self.truth[other] for name, other in zip(sample, true, strict=True)}
        same = all((perfect[name].dtype == object) == (sample[name].dtype == object) for name in sample)
        return perfect if same else {}

    def _damaged(self, columns: Columns) -> dict[str, Columns]:
        order = np.random.default_rng(1).permutation(self._rows)
        damaged: dict[str, Columns] = {
            "shuffled": {name: values[order] for name, values in columns.items()},
            "constant": {name: values[np.zeros_like(order)] for name, values in columns.items()},
        }
        if all(values.dtype.kind in "fiu" for values in columns.values()):
            damaged["extreme"] = {name: values * 1e100 - 1e100 for name, values in columns.items()}
        return damaged


def check_metric(
    metric: PythonMetric, other: SandboxClient, truth: Columns, sample: Columns, public: RowArray
) -> MetricCheck:
    """Check a metric with all rows of the solution and a sample submission.

    Parameters
    ----------
    metric : PythonMetric
        The metric. Its terms are determined here.
    other : SandboxClient
        A sandbox with another hash seed.
    truth, sample : mapping of str to ndarray
        The columns of both tables in the order of the ids; `truth` contains the ids.
    public : ndarray of int
        The positions of the public rows.
    """
    rows = np.arange(len(truth[metric.settings.id]))
    truth, sample = metric.prepare(truth, rows).data, metric.encode(sample)
    check = MetricCheck(metric, other, truth)
    try:
        check.metric, outcome = described(metric, truth, sample)
    except MetricFailed as failed:
        check.problems.append(
            f"With the sample submission, the metric {REASONS[failed.status]}.\n{failed.log}"
        )
        check.checks_files = False
        return check
    check.seconds, check.memory_bytes = outcome.seconds, outcome.memory_bytes
    check.measure(sample, metric.prepare(made_up_truth(truth, public, id_column=metric.settings.id), rows))
    limit = metric.settings.limits.seconds
    if 2 * outcome.seconds > limit:
        check.problems.append(
            f"The metric takes {outcome.seconds:.1f} s for all rows. The check of a file and both splits "
            f"together must take less than {limit:g} s."
        )
    return check


def described(metric: PythonMetric, truth: Columns, sample: Columns) -> tuple[PythonMetric, CallOutcome]:
    """Score a sample submission; return the metric with its terms.

    Raises
    ------
    MetricFailed
        If the function fails.
    """
    rows = np.arange(len(truth[metric.settings.id]))
    request = metric.request(metric.prepare(truth, rows), metric.encode(sample))
    outcome = metric.call(replace(request, terms=("score",), describes=True))
    if outcome.status is not CallStatus.OK:
        raise MetricFailed(outcome)
    return replace(metric, settings=replace(metric.settings, terms=term_names(outcome))), outcome


def check_files(
    data: bytes,
    solution: Path,
    sample: Path,
    *,
    lowest: bool = False,
    nonnegative: bool = False,
    arguments: Mapping[str, Any] | None = None,
    sandboxes: tuple[SandboxClient, SandboxClient] | None = None,
) -> MetricCheck:
    """Check the metric in `data` with two files; raise FileRejected or, if they do not fit, ValueError."""
    source, true = MetricSource.of(data), PythonTable.read(solution)
    with reading("submission"):
        predicted = PythonTable.read(sample)
    direction = Direction.LOWEST if lowest else Direction.HIGHEST
    chosen = PythonSettings(direction=direction, nonnegative=nonnegative, arguments=arguments or {})
    settings, usage = settings_of(true, predicted, chosen), true.table.usage
    ids = np.array(list(true.table.row_ids), np.int64 if settings.id in settings.whole else object)
    rows = np.argsort(ids)
    rows = rows if usage is None else rows[usage[rows] != USAGE_CODES["ignored"]]
    columns = predicted.at(list(map(str, ids[rows].tolist())))
    public = np.arange(rows.size) if usage is None else np.flatnonzero(usage[rows] == USAGE_CODES["public"])
    truth = {name: values[rows] for name, values in true.columns.items()} | {settings.id: ids[rows]}
    first, second = sandboxes or (SandboxClient(), SandboxClient(hash_seed=1))
    try:
        return check_metric(PythonMetric(source, settings, first), second, truth, columns, public)
    finally:
        if sandboxes is None:
            first.close()
            second.close()

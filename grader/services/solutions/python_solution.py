"""Solutions and sample submissions of metrics written in Python: types as from `read_csv`, setup check."""

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fairboard.interface import ColumnKind, Columns, ColumnSpec
from grader.files import ColumnRole, ColumnRoles, RowIds, Solution, guess_columns
from grader.files.reading.numbers import number_of
from grader.files.solution.columns import Categories
from grader.files.solution.columns import Columns as TableColumns
from grader.files.solution.solution import read_targets
from grader.metrics import registry
from grader.metrics.python_check import check_metric
from grader.metrics.python_metric import REASONS, MetricFailed, MetricSource, PythonMetric, PythonSettings
from grader.models import Split
from grader.sandbox import SandboxUnavailable, TimedSandbox
from grader.services.competitions.metric import NamedMetric
from grader.services.solutions.truth import IGNORED, PUBLIC, Truth

# An endless loop ends after the time limit of one call; this limits the sum of all calls.
CHECK_SECONDS = 300
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True, eq=False)
class PythonTable:
    """A solution or a sample submission; `id` is its column with the ids, `names` are the read columns."""

    id: str
    table: TableColumns
    roles: ColumnRoles
    names: tuple[str, ...]

    @classmethod
    def read(
        cls,
        source: Path | bytes | BinaryIO,
        *,
        names: Sequence[str] | None = None,
        groups: Sequence[str] = (),
        usage: Sequence[str] | None = None,
    ) -> "PythonTable":
        """Read columns of a file, by default all except the ids and the splits; raise FileRejected."""
        roles = {each.name: each.role for each in guess_columns(source) if each.name}
        others = [name for name, role in roles.items() if role not in (ColumnRole.ID, ColumnRole.USAGE)]
        names = tuple(others if names is None else names)
        texts = [*dict.fromkeys((*names, *groups))]
        table, found = read_targets(source, numbers={}, groups=texts, usage=usage)
        identifier = next(name for name, role in roles.items() if role is ColumnRole.ID)
        labels = dict.fromkeys(names, ColumnRole.LABEL) | dict.fromkeys(groups, ColumnRole.SLICE)
        return cls(identifier, table, ColumnRoles(dict(found.by_column) | labels), names)

    @property
    def row_ids(self) -> RowIds:
        """The ids in the order of the file."""
        assert self.table.row_ids is not None  # noqa: S101 (an id column was read)
        return self.table.row_ids

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """int64, float64 with NaN for blanks, or objects with an empty text for blanks."""
        return {name: _typed(self.table.texts[name]) for name in self.names}

    def specs(self) -> tuple[ColumnSpec, ...]:
        """Describe the columns."""
        return tuple(
            ColumnSpec(name, ColumnKind.TEXT if values.dtype.kind == "O" else ColumnKind.NUMBER)
            for name, values in self.columns.items()
        )

    def solution(self) -> Solution:
        """Return the columns as `Truth` stores them: numbers, or the codes of texts."""
        texts = {name: each for name, each in self.columns.items() if each.dtype.kind == "O"}
        classes = tuple(dict.fromkeys(text for each in texts.values() for text in each.tolist()))
        codes = {text: code for code, text in enumerate(classes)}
        targets = {
            name: np.array([codes[text] for text in each.tolist()], np.int32)
            if name in texts
            else each.astype(np.float64)
            for name, each in self.columns.items()
        }
        return Solution.of_targets(
            (self.table, self.roles), targets, names=self.names, classes=classes if texts else ()
        )


def _typed(column: Categories) -> NDArray[Any]:
    """Return the values of a column; the code of a blank, -1, is the index of the last item."""
    if column.codes.size and column.codes.min() >= 0 and all(map(_WHOLE.fullmatch, column.values)):
        return np.array([int(each) for each in column.values], np.int64)[column.codes]
    numbers = [number_of(each) for each in column.values]
    if None not in numbers:
        return np.array([*numbers, np.nan], np.float64)[column.codes]
    return np.array(column.texts(), object)


def columns_of(truth: Truth, row_ids: RowIds, settings: PythonSettings) -> Columns:
    """Return the columns of a stored solution with its ids, and texts instead of their codes."""
    columns = dict(truth.columns)
    for each in settings.truth:
        if each.kind is ColumnKind.TEXT:
            columns[each.name] = np.array(truth.classes, object)[truth.targets[each.name]]
    ids = np.array(list(row_ids), np.int64 if settings.id in settings.whole else object)
    return {**columns, settings.id: ids}


def settings_of(
    solution: PythonTable, sample: PythonTable | None, settings: PythonSettings
) -> PythonSettings:
    """Return the settings with the columns of both tables; without a sample, those of the solution."""
    tables = [solution] if sample is None else [solution, sample]
    whole = {
        name
        for name in {name for table in tables for name in table.columns}
        if all(table.columns[name].dtype.kind == "i" for table in tables if name in table.columns)
    }
    if all(map(_WHOLE.fullmatch, solution.row_ids)):
        whole.add(solution.id)
    return replace(
        settings,
        id=solution.id,
        truth=solution.specs(),
        predictions=tables[-1].specs(),
        whole=frozenset(whole),
    )


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
        places = {name: place for place, name in enumerate(sample.row_ids)}
        names = list(row_ids)
        order = [places.get(names[row], -1) for row in rows.tolist()]
        if missing := order.count(-1):
            return metric, {}, [f"Ids of the solution that are not in the sample submission: {missing:,}."]
        predicted = {name: values[order] for name, values in sample.columns.items()}
    text = MetricSource.of(source).text
    with closing(TimedSandbox()) as first, closing(TimedSandbox(hash_seed=1)) as second:
        try:
            for each in (first, second):
                each.begin(CHECK_SECONDS, text)
        except SandboxUnavailable as error:
            return metric, {}, [str(error)]
        python = PythonMetric(MetricSource.of(source), settings, first)
        encoded = python.encode(predicted)
        typed = python.prepare(known, np.arange(rows.size)).solution
        public = np.flatnonzero(truth.usage[rows] == PUBLIC)
        check = check_metric(python, second, typed, encoded, public)
        problems = list(check.problems)
        metric = metric.model_copy(update={"python": check.settings.as_dict()})
        scored = registry.of_settings(metric.as_dict(), source, first)
        for split in Split if not problems else ():
            places_of_split = np.flatnonzero(np.isin(rows, truth.rows(split)))
            try:
                scored.score(scored.prepare(known, places_of_split), encoded)
            except MetricFailed as failed:
                problems.append(
                    f"On the {split.value} rows, the metric {REASONS[failed.status]}.\n{failed.log}"
                )
    return metric, check.as_dict(), problems

"""Solutions and sample submissions of metrics written in Python: types as from `read_csv`, setup check."""

import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files import ColumnRole, RowIds, guess_columns
from grader.files.reading.numbers import number_of
from grader.files.solution.columns import Categories
from grader.files.solution.targets import read_targets
from grader.metrics.interface import ColumnKind, Columns, ColumnSpec
from grader.metrics.python_check import check_metric
from grader.metrics.python_metric import REASONS, MetricFailed, MetricSource, PythonMetric, PythonSettings
from grader.sandbox import SandboxUnavailable, TimedSandbox
from grader.services.solutions.truth import IGNORED, PRIVATE, PUBLIC

# An endless loop ends after the time limit of one call; this limits the sum of all calls.
CHECK_SECONDS = 300
_SPLITS = {"public": PUBLIC, "private": PRIVATE}
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True, eq=False)
class PythonTable:
    """A solution or a sample submission.

    Attributes
    ----------
    id : str
        The name of the column with the ids.
    row_ids : RowIds
    usage : array of int8, or None
    columns : dict of str to array
        int64, float64 with NaN for blanks, or objects with an empty text for blanks.
    texts : dict of str to Categories
        The columns that are objects.
    """

    id: str
    row_ids: RowIds
    usage: NDArray[np.int8] | None
    columns: Mapping[str, NDArray[Any]]
    texts: Mapping[str, Categories]

    @classmethod
    def read(cls, source: Path | bytes | BinaryIO) -> "PythonTable":
        """Read all columns of a file; raise FileRejected."""
        roles = {each.name: each.role for each in guess_columns(source)}
        names = [
            name for name, role in roles.items() if name and role not in (ColumnRole.ID, ColumnRole.USAGE)
        ]
        table = read_targets(source, numbers={}, groups=names)
        columns = {name: _typed(each) for name, each in table.groups.items()}
        texts = {name: table.groups[name] for name, each in columns.items() if each.dtype.kind == "O"}
        identifier = next(name for name, role in roles.items() if role is ColumnRole.ID)
        return cls(identifier, table.row_ids, table.usage, columns, texts)

    @property
    def targets(self) -> dict[str, NDArray[Any]]:
        """The columns as numbers, for `Truth`; those of texts are codes, and the texts are in `texts`."""
        return {
            name: self.texts[name].codes if name in self.texts else each
            for name, each in self.columns.items()
        }

    def specs(self) -> tuple[ColumnSpec, ...]:
        """Describe the columns."""
        return tuple(
            ColumnSpec(name, ColumnKind.TEXT if name in self.texts else ColumnKind.NUMBER)
            for name in self.columns
        )


def _typed(column: Categories) -> NDArray[Any]:
    """Return the values of a column; the code of a blank, -1, is the index of the last item."""
    if column.codes.size and column.codes.min() >= 0 and all(map(_WHOLE.fullmatch, column.values)):
        return np.array([int(each) for each in column.values], np.int64)[column.codes]
    numbers = [number_of(each) for each in column.values]
    if None not in numbers:
        return np.array([*numbers, np.nan], np.float64)[column.codes]
    return np.array(column.texts(), object)


def with_ids(columns: Columns, row_ids: RowIds, settings: PythonSettings) -> Columns:
    """Return the columns of a solution with its ids."""
    names = list(row_ids)
    ids = np.array(names, np.int64 if settings.id in settings.whole else object)
    return {**columns, settings.id: ids}


def settings_of(
    solution: PythonTable, sample: PythonTable | None, settings: PythonSettings
) -> PythonSettings:
    """Return the settings with the columns of both tables; without a sample, those of the solution."""
    tables = [solution] if sample is None else [solution, sample]
    names = {name for table in tables for name in table.columns}
    whole = {
        name
        for name in names
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
    solution: PythonTable,
    usage: NDArray[np.int8],
    sample: PythonTable | None,
    source: MetricSource,
    settings: PythonSettings,
) -> tuple[PythonSettings, dict[str, Any], list[str]]:
    """Check a metric with a solution; return its complete settings, a report for organizers, and problems.

    Without a sample submission, predictions have the columns of the solution.
    """
    settings = settings_of(solution, sample, settings)
    rows = np.flatnonzero(usage != IGNORED)
    splits = {name: np.flatnonzero(usage[rows] == code) for name, code in _SPLITS.items()}
    columns = with_ids(solution.columns, solution.row_ids, settings)
    truth = {name: values[rows] for name, values in columns.items()}
    if sample is None:
        predicted = {name: truth[name][np.zeros(rows.size, int)] for name in solution.columns}
    else:
        places = {name: place for place, name in enumerate(sample.row_ids)}
        order = [places.get(name, -1) for name in map(list(solution.row_ids).__getitem__, rows)]
        if missing := order.count(-1):
            return settings, {}, [f"Ids of the solution that are not in the sample submission: {missing:,}."]
        predicted = {name: values[order] for name, values in sample.columns.items()}
    with closing(TimedSandbox()) as first, closing(TimedSandbox(hash_seed=1)) as second:
        try:
            for each in (first, second):
                each.begin(CHECK_SECONDS)
        except SandboxUnavailable as error:
            return settings, {}, [str(error)]
        metric = PythonMetric(source, settings, first)
        # The values of a submission have the types that `encode` gives them.
        sample_columns = metric.encode(predicted)
        typed = metric.prepare(truth, np.arange(rows.size)).solution
        check = check_metric(metric, second, typed, sample_columns, splits["public"])
        problems = list(check.problems)
        metric = replace(metric, settings=check.settings)
        for name, places_of_split in splits.items():
            if not problems:
                try:
                    metric.score(metric.prepare(typed, places_of_split), sample_columns)
                except MetricFailed as failed:
                    problems.append(f"On the {name} rows, the metric {REASONS[failed.status]}.\n{failed.log}")
    return check.settings, check.as_dict(), problems

"""Solutions and sample submissions of Python metrics, with types as from `read_csv`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from fairboard.interface import ColumnKind, ColumnSpec
from grader.files import ColumnRole, ColumnRoles, Solution, guess_columns
from grader.files.reading.numbers import number_of
from grader.files.solution.columns import Categories
from grader.files.solution.columns import Columns as TableColumns
from grader.files.solution.solution import read_targets
from grader.metrics.python_metric import PythonSettings

_INTEGER_DIGITS = 18
_WHOLE = re.compile(rf"[+-]?[0-9]{{1,{_INTEGER_DIGITS}}}")


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
        row_id: str | None = None,
    ) -> "PythonTable":
        """Read columns of a file, by default all except the ids and the splits; raise FileRejected."""
        roles = {each.name: each.role for each in guess_columns(source) if each.name}
        roles |= {} if row_id is None else {row_id: ColumnRole.ID}
        others = [name for name, role in roles.items() if role not in (ColumnRole.ID, ColumnRole.USAGE)]
        names = tuple(others if names is None else names)
        texts = [*dict.fromkeys((*names, *groups))]
        table, used_roles = read_targets(source, numbers={}, groups=texts, usage=usage, row_id=row_id)
        identifier = used_roles.id or ""
        labels = dict.fromkeys(names, ColumnRole.LABEL) | dict.fromkeys(groups, ColumnRole.SLICE)
        return cls(identifier, table, ColumnRoles(dict(used_roles.by_column) | labels), names)

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """int64, float64 with NaN for blanks, or objects with an empty text for blanks."""
        return {name: _typed(self.table.texts[name]) for name in self.names}

    def at(self, ids: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the rows with these ids in this order; raise ValueError if any is missing."""
        places = {name: place for place, name in enumerate(self.table.row_ids)}
        order = [places.get(name, -1) for name in ids]
        if missing := order.count(-1):
            raise ValueError(f"Ids of the solution that are not in the sample submission: {missing:,}.")
        return {name: values[order] for name, values in self.columns.items()}

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
    row_ids = solution.table.row_ids
    if row_ids.are_integers and row_ids.longest <= _INTEGER_DIGITS:
        whole.add(solution.id)
    return replace(
        settings,
        id=solution.id,
        truth=solution.specs(),
        predictions=tables[-1].specs(),
        whole=frozenset(whole),
    )

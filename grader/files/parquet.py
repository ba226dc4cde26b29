"""Parquet files, read one row group at a time: tables with predictions, and conversion to CSV."""

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import BLANKS
from grader.files.reading.problems import FileProblem, FileRejected
from grader.files.solution.column_roles import ColumnSample, ColumnTally
from grader.files.solution.columns import BLANK, SPLITS, USAGE_CODES
from grader.files.solution.header import Choice, ColumnRoles, assign
from grader.text import counted, quoted

FRACTION, IDENTITY = "a number from 0 to 1", "a number from 0 to 1 or a blank"
PREDICTION, USAGE = "a finite number", "Public, Private or Ignored"
EXACT = {"float32": "float64", "bool": "int8", "boolean": "Int8"}
Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file with labels, identities and predictions, of which one row group is in memory."""

    path: Path
    roles: ColumnRoles

    @classmethod
    def open(cls, path: Path, choice: Choice) -> "ParquetTable":
        """Assign the chosen roles; raise FileRejected or WrongColumns as `read_scored_table` does."""
        with _opened(path) as reader:
            names = reader.columns
        assignment = assign([ColumnSample(name, (), ColumnTally()) for name in names], choice)
        if isinstance(assignment, list):
            raise FileRejected("solution", assignment)
        return cls(path, assignment.roles(names, ()))

    def chunks(self, prediction: str, split: str) -> Iterator[tuple[Numbers, Numbers, dict[str, Numbers]]]:
        """Yield the labels, the predictions of one model and the identities of a split in each row group.

        After the last row group, FileRejected is raised with one problem for each column with invalid values.
        """
        expected = {self.roles.label: FRACTION, prediction: PREDICTION}
        expected |= dict.fromkeys(self.roles.identities, IDENTITY)
        expected |= {} if self.roles.usage is None else {self.roles.usage: USAGE}
        start, problems = 0, dict[str, FileProblem]()
        for frame in _frames(self.path, list(expected)):
            values = {}
            for name, what in expected.items():
                values[name], is_wrong = _checked(frame[name], what)
                if count := int(np.count_nonzero(is_wrong)):
                    place = int(np.argmax(is_wrong))
                    value = quoted(str(frame[name].iloc[place]))
                    shown = (
                        f"Column {quoted(name)}: row {start + place + 1:,} contains {value}; expected {what}."
                    )
                    found = problems.get(name, FileProblem("invalid_value", shown, count=0, expected=what))
                    problems[name] = replace(found, count=found.count + count)
            start += len(frame)
            if not problems:
                if self.roles.usage is not None:
                    kept = np.isin(values[self.roles.usage], SPLITS[split])
                    values = {name: each[kept] for name, each in values.items()}
                identities = {name: values[name] for name in self.roles.identities}
                yield values[self.roles.label], values[prediction], identities
        if not start:
            raise FileRejected("solution", [FileProblem("no_rows", "The file has no rows.")])
        if problems:
            total = [
                replace(p, message=f"{p.message} {counted(p.count, 'such row')}.") for p in problems.values()
            ]
            raise FileRejected("solution", total)


def write_csv(source: Path, target: Path) -> None:
    """Write the values of a Parquet file as CSV, which preserves every bit of a number."""
    with target.open("w", encoding="utf-8", newline="") as file:
        for place, frame in enumerate(_frames(source)):
            exact = {name: EXACT[str(kind)] for name, kind in frame.dtypes.items() if str(kind) in EXACT}
            # Without quotes, pandas would write carriage returns in texts as line ends.
            frame.astype(exact).to_csv(file, index=False, header=not place, quoting=csv.QUOTE_NONNUMERIC)


def _frames(path: Path, columns: list[str] | None = None) -> Iterator[Any]:
    """Yield the row groups as tables, or one empty table."""
    with _opened(path) as reader:
        if not reader.row_groups:
            yield reader.to_pandas(columns=columns, index=False)
        yield from reader.iter_row_groups(columns=columns, index=False)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    from fastparquet import ParquetFile

    with path.open("rb") as file:
        try:
            yield ParquetFile(file)
        except Exception as error:  # fastparquet raises errors of many types for damaged files
            problem = FileProblem("not_parquet", f"{path.name} cannot be read as Parquet ({error}).")
            raise FileRejected("solution", [problem]) from error


def _checked(column: Any, expected: str) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return a column's values in a row group, and a mask of the invalid ones."""
    if expected == USAGE:
        codes, names = column.factorize()
        known = [USAGE_CODES.get(str(name).strip(BLANKS).casefold(), BLANK) for name in names]
        usage = np.array([*known, BLANK], np.float32)[codes]  # the code of a blank, -1, is the last item
        return usage, usage == BLANK
    try:
        numbers = column.to_numpy(np.float32 if column.dtype == np.float32 else np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return np.zeros(len(column)), np.ones(len(column), np.bool_)
    fits = np.isfinite(numbers) if expected == PREDICTION else (numbers >= 0) & (numbers <= 1)
    return numbers, ~(fits | np.isnan(numbers)) if expected == IDENTITY else ~fits

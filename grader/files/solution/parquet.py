"""Tables with labels and predictions in Parquet files, read one row group at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.problems import FileRejected, Problem
from grader.files.solution.header import Choice, ColumnRoles, assign
from grader.text import counted, quoted

MAGIC = b"PAR1"
FRACTION, IDENTITY = "a number from 0 to 1", "a number from 0 to 1 or a blank"
PREDICTION = "a finite number"
Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file with labels, identities and predictions, of which one row group is in memory."""

    path: Path
    roles: ColumnRoles

    @classmethod
    def open(
        cls, path: Path, *, predictions: Sequence[str], identities: Sequence[str], label: str | None = None
    ) -> "ParquetTable":
        """Assign the roles of the columns; raise FileRejected or WrongColumns as `read_scored_table` does."""
        with path.open("rb") as file:
            names = _reader(file).columns
        assignment = assign(names, Choice(label, identities, predictions, needs_id=False))
        if not isinstance(assignment, list) and assignment.usage is not None:
            message = "A Parquet file with a Usage column cannot be scored; write one file for each split."
            assignment = [Problem("usage", message)]
        if isinstance(assignment, list):
            raise FileRejected("solution", assignment)
        return cls(path, assignment.roles(names, ()))

    def chunks(self, prediction: str) -> Iterator[tuple[Numbers, Numbers, dict[str, Numbers]]]:
        """Yield the labels, the predictions of one model and the identities of each row group.

        After the last row group, FileRejected is raised with one problem for each column with invalid values.
        """
        expected = {self.roles.label: FRACTION, prediction: PREDICTION}
        expected |= dict.fromkeys(self.roles.identities, IDENTITY)
        start, problems = 0, dict[str, Problem]()
        for frame in self._frames(list(expected)):
            values = {}
            for name, what in expected.items():
                values[name], is_wrong = _checked(frame[name], what)
                if count := int(np.count_nonzero(is_wrong)):
                    place = int(np.argmax(is_wrong))
                    value = quoted(str(frame[name].iloc[place]))
                    shown = (
                        f"Column {quoted(name)}: row {start + place + 1:,} contains {value}; expected {what}."
                    )
                    found = problems.get(name, Problem("invalid_value", shown, count=0, expected=what))
                    problems[name] = replace(found, count=found.count + count)
            start += len(frame)
            if not problems:
                identities = {name: values[name] for name in self.roles.identities}
                yield values[self.roles.label], values[prediction], identities
        if not start:
            raise FileRejected("solution", [Problem("no_rows", "The file has no rows.")])
        if problems:
            total = [
                replace(p, message=f"{p.message} {counted(p.count, 'such row')}.") for p in problems.values()
            ]
            raise FileRejected("solution", total)

    def _frames(self, columns: list[str]) -> Iterator[Any]:
        with self.path.open("rb") as file:
            yield from _reader(file).iter_row_groups(columns=columns)


def _reader(file: BinaryIO) -> Any:
    from fastparquet import ParquetFile

    try:
        return ParquetFile(file)
    except Exception as error:  # fastparquet raises errors of many types for damaged files
        problem = Problem("not_parquet", f"The file cannot be read as Parquet ({error}).")
        raise FileRejected("solution", [problem]) from error


def _checked(column: Any, expected: str) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return a column's values in a row group, and a mask of the invalid ones."""
    try:
        numbers = column.to_numpy(np.float32 if column.dtype == np.float32 else np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return np.zeros(len(column)), np.ones(len(column), np.bool_)
    fits = np.isfinite(numbers) if expected == PREDICTION else (numbers >= 0) & (numbers <= 1)
    return numbers, ~(fits | np.isnan(numbers)) if expected == IDENTITY else ~fits

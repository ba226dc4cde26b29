"""Comparison of the ids in a participants' table, such as test.csv, with the solution."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import open_content
from grader.files.reading.numbers import BLANKS
from grader.files.reading.problems import FileProblem, FileRejected
from grader.files.reading.row_ids import RowIds, place_of
from grader.files.reading.unreadable import NotReadable
from grader.files.solution.columns import text_stream
from grader.files.solution.header import read_beginning
from grader.text import counted, listed, quoted

SIZE_CAP = 20_000_000_000
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class PublicTable:
    """Columns and ids of a participants' table.

    Attributes
    ----------
    columns : tuple of str
    positions : array of int64, shape (n,)
        For each row with a known id, the position of that id in the solution.
    problems : tuple of FileProblem
        Missing, unknown and repeated ids; empty if the ids are exactly the solution's.
    """

    columns: tuple[str, ...]
    positions: NDArray[np.int64]
    problems: tuple[FileProblem, ...]


def read_public_table(source: Path | bytes | BinaryIO, row_ids: RowIds, *, id_column: str) -> PublicTable:
    """Compare the ids of the participants' table with the solution's; other columns are only listed.

    Parameters
    ----------
    source : Path, bytes or seekable binary stream
        CSV, or gzip or zip of one CSV.
    row_ids : RowIds
        The ids of the solution.
    id_column : str
        The name of the id column in the solution. If the table lacks it, a column whose name differs only in
        case or a column named id is used.

    Raises
    ------
    FileRejected
        The table or its header cannot be read, or it has no id column.
    """
    try:
        content = open_content(source, cap=SIZE_CAP)
        names, _, problems = read_beginning(content)
        if problems:
            raise FileRejected("solution", problems)
        column = _id_column(names, id_column)
        with text_stream(content.open()) as stream:
            ids = _Ids(row_ids, column)
            try:
                ids.read(csv.reader(stream))
            except csv.Error as error:
                raise FileRejected("solution", [_unreadable(ids.rows + 2, str(error))]) from error
    except NotReadable as error:
        raise FileRejected("solution", [error.problem]) from error
    return PublicTable(tuple(names), np.array(ids.positions, np.int64), tuple(ids.problems()))


class _Ids:
    """Looks up each id of the table in the solution."""

    def __init__(self, row_ids: RowIds, column: int) -> None:
        self._row_ids = row_ids
        self._places = row_ids.index()
        self._column = column
        self._seen = np.zeros(len(row_ids), np.bool_)
        self._unknown = _Examples()
        self._repeated = _Examples()
        self.positions: list[int] = []
        self.rows = 0

    def read(self, records: Iterator[list[str]]) -> None:
        next(records)
        for record in records:
            if not record:
                continue
            self.rows += 1
            text = record[self._column].strip(BLANKS) if len(record) > self._column else ""
            place = place_of(text.encode("utf-8", "surrogateescape"), self._places)
            if place is None:
                self._unknown.add(text)
            elif self._seen[place]:
                self._repeated.add(text)
            else:
                self._seen[place] = True
                self.positions.append(place)

    def problems(self) -> list[FileProblem]:
        places = np.flatnonzero(~self._seen)
        missing = _Examples(places.size, self._row_ids.smallest(places.tolist(), _SHOWN))
        return [
            *missing.problem("missing_ids", "test.csv lacks {} of the solution"),
            *self._unknown.problem("unknown_ids", "test.csv has {} that the solution lacks"),
            *self._repeated.problem("repeated_ids", "test.csv repeats {}"),
        ]


@dataclass(slots=True)
class _Examples:
    """The number of ids of one kind, and the first of them."""

    count: int = 0
    shown: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.count += 1
        if len(self.shown) < _SHOWN:
            self.shown.append(text)

    def problem(self, code: str, sentence: str) -> list[FileProblem]:
        if not self.count:
            return []
        ids = listed([quoted(text) for text in self.shown], total=self.count)
        message = f"{sentence.format(counted(self.count, 'id'))}: {ids}."
        return [FileProblem(code, message, None, (), self.count, "exactly the solution's ids", ids)]


def _id_column(names: list[str], wanted: str) -> int:
    for name in (wanted, "id"):
        alike = [n for n, each in enumerate(names) if each.casefold() == name.casefold()]
        if alike:
            return names.index(name) if name in names else alike[0]
    shown = listed([quoted(name) for name in names], most=20)
    message = f"test.csv has no column {quoted(wanted)}; found {shown}."
    raise FileRejected(
        "solution", [FileProblem("missing_column", message, 1, (1,), 1, quoted(wanted), shown)]
    )


def _unreadable(line: int, reason: str) -> FileProblem:
    message = f"test.csv cannot be read from about line {line:,} onwards ({reason})."
    return FileProblem("stray_quote", message, line, (line,), 1, None, reason)

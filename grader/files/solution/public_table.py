"""Comparison of the ids in a participants' table, such as test.csv, with the solution."""

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import open_content
from grader.files.reading.numbers import BLANKS
from grader.files.reading.problems import FileProblem, FileRejected, reading
from grader.files.reading.row_ids import RowIds, place_of
from grader.files.solution.columns import text_stream
from grader.files.solution.header import missing_column, read_beginning
from grader.text import counted, listed, quoted

SIZE_CAP = 20_000_000_000
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class PublicTable:
    """Columns and ids of a participants' table.

    `positions` are, for each row with a known id, the position of that id in the solution. The problems are
    missing, unknown and repeated ids.
    """

    columns: tuple[str, ...]
    positions: NDArray[np.int64]
    problems: tuple[FileProblem, ...]


@reading("solution")
def read_public_table(source: Path | bytes | BinaryIO, row_ids: RowIds, *, id_column: str) -> PublicTable:
    """Compare the ids of the participants' table with the solution's; other columns are only listed.

    If the table lacks the `id_column` of the solution, a column whose name differs only in case or a column
    named id is used. Raise FileRejected if there is none, or the table cannot be read.
    """
    content = open_content(source, cap=SIZE_CAP)
    names, _, problems = read_beginning(content)
    if problems:
        raise FileRejected(*problems)
    column = _id_column(names, id_column)
    places, is_seen, positions = row_ids.index(), np.zeros(len(row_ids), np.bool_), list[int]()
    unknown, repeated = _Examples(), _Examples()
    with text_stream(content.open()) as stream:
        records = csv.reader(stream)
        try:
            next(records)
            for record in filter(None, records):
                text = record[column].strip(BLANKS) if len(record) > column else ""
                place = place_of(text.encode("utf-8", "surrogateescape"), places)
                if place is None:
                    unknown.add(text)
                elif is_seen[place]:
                    repeated.add(text)
                else:
                    is_seen[place] = True
                    positions.append(place)
        except csv.Error as error:
            at_line, like = records.line_num, "unreadable_table"
            problem = FileProblem.of("stray_quote", like=like, lines=[at_line], reason=str(error))
            raise FileRejected(problem) from error
    lacking = np.flatnonzero(~is_seen)
    missing = _Examples(lacking.size, row_ids.smallest(lacking.tolist(), _SHOWN))
    found = {"missing_ids": missing, "unknown_ids": unknown, "repeated_ids": repeated}
    told = tuple(each.problem(code) for code, each in found.items() if each.count)
    return PublicTable(tuple(names), np.array(positions, np.int64), told)


@dataclass(slots=True)
class _Examples:
    """The number of ids of one kind, and the first of them."""

    count: int = 0
    shown: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.count += 1
        if len(self.shown) < _SHOWN:
            self.shown.append(text)

    def problem(self, code: str) -> FileProblem:
        names = listed([quoted(text) for text in self.shown], total=self.count)
        return FileProblem.of(code, count=self.count, ids=counted(self.count, "id"), names=names)


def _id_column(names: list[str], wanted: str) -> int:
    for name in (wanted, "id"):
        alike = [n for n, each in enumerate(names) if each.casefold() == name.casefold()]
        if alike:
            return names.index(name) if name in names else alike[0]
    raise FileRejected(missing_column(wanted, names))

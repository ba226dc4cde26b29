"""Comparison of the ids in a participants' table, such as test.csv, with the solution."""

import csv
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import Source
from grader.files.reading.numbers import BLANKS
from grader.files.reading.problems import FileProblem, FileRejected, Findings, reading
from grader.files.reading.row_ids import RowIds, place_of
from grader.files.solution.columns import text_stream
from grader.files.solution.header import missing_column, read_beginning
from grader.files.solution.roles import ID_COLUMN, column_called
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
def read_public_table(source: Source, row_ids: RowIds, *, id_column: str) -> PublicTable:
    """Compare the ids of the participants' table with the solution's; other columns are only listed.

    If the table lacks the `id_column` of the solution, a column whose name differs only in case or a column
    named id is used. Raise FileRejected if there is none, or the table cannot be read.
    """
    names, _, problems = read_beginning(source, SIZE_CAP)
    if problems:
        raise FileRejected(*problems)
    name = column_called(names, (id_column,)) or column_called(names, (ID_COLUMN,))
    if name is None:
        raise FileRejected(missing_column(id_column, names))
    column = names.index(name)
    places, is_seen, positions = row_ids.index(), np.zeros(len(row_ids), np.bool_), list[int]()
    findings = Findings()
    with text_stream(source, SIZE_CAP) as stream:
        records = csv.reader(stream)
        try:
            next(records)
            for record in filter(None, records):
                text = record[column].strip(BLANKS) if len(record) > column else ""
                place = place_of(text.encode("utf-8", "surrogateescape"), places)
                if place is None or is_seen[place]:
                    code = "unknown_ids" if place is None else "repeated_ids"
                    findings.add(code, records.line_num, text)
                else:
                    is_seen[place] = True
                    positions.append(place)
        except csv.Error as error:
            at_line, like = records.line_num, "unreadable_table"
            problem = FileProblem.of("stray_quote", like=like, lines=[at_line], reason=str(error))
            raise FileRejected(problem) from error
    lacking = np.flatnonzero(~is_seen)
    problems = findings.problems()
    if lacking.size:
        shown = [quoted(each) for each in row_ids.smallest(lacking.tolist(), _SHOWN)]
        names_of, ids = listed(shown, total=lacking.size), counted(lacking.size, "id")
        problems.insert(0, FileProblem.of("missing_ids", count=lacking.size, ids=ids, names=names_of))
    return PublicTable(tuple(names), np.array(positions, np.int64), tuple(problems))

"""An organizer's tables: the solution, and a table that holds its own predictions."""

import csv
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.containers import Content, open_content
from grader.files.findings import Findings
from grader.files.header_faults import (
    describe_line_above,
    fault_of_line_above,
    invalid_utf8,
    invisible_characters,
    trimmed,
)
from grader.files.problems import FileRejected, Problem
from grader.files.records import read_explained
from grader.files.roles import Assignment, Choice, ColumnRoles, WrongColumns, assign
from grader.files.rowids import RowIds
from grader.files.table import Columns, NumberColumn, Wanted, number_of, read_plain, text_stream
from grader.files.text import not_utf8, wide_encoding
from grader.files.unreadable import Unreadable
from grader.files.wording import quoted

SIZE_CAP = 2_000_000_000
_SAMPLE_ROWS = 1000
_LONGEST_HEADER = 1 << 20
_HEADER = "a header with id, a label and identities"
_LARGEST = float(np.finfo(np.float64).max)
_LABEL = NumberColumn("label")
_IDENTITY = NumberColumn("identity", may_be_blank=True)
_CANDIDATE = replace(_IDENTITY, is_optional=True)
_PREDICTION = NumberColumn("prediction", low=-_LARGEST, high=_LARGEST)


@dataclass(frozen=True, slots=True)
class Solution:
    """The truth a competition is scored against.

    Attributes
    ----------
    row_ids : RowIds
        The n ids in the order of the file.
    labels : array of float64, shape (n,)
        In 0..1.
    identities : dict of str to array of float64, shape (n,)
        In 0..1; NaN where the cell is blank: not mentioned.
    usage : array of int8, shape (n,), or None
        0 Ignored, 1 Public, 2 Private; None without such a column.
    roles : ColumnRoles
    """

    row_ids: RowIds
    labels: NDArray[np.float64]
    identities: dict[str, NDArray[np.float64]]
    usage: NDArray[np.int8] | None
    roles: ColumnRoles


@dataclass(frozen=True, slots=True)
class ScoredTable:
    """A table that holds labels, identities and the predictions of some models.

    Attributes
    ----------
    labels : array of float64, shape (n,)
    identities : dict of str to array of float64, shape (n,)
    usage : array of int8, shape (n,), or None
        As in `Solution`.
    predictions : dict of str to array of float64, shape (n,)
        Finite.
    roles : ColumnRoles
    """

    labels: NDArray[np.float64]
    identities: dict[str, NDArray[np.float64]]
    usage: NDArray[np.int8] | None
    predictions: dict[str, NDArray[np.float64]]
    roles: ColumnRoles


def read_solution(
    source: Path | bytes | BinaryIO,
    *,
    label: str | None = None,
    identities: Sequence[str] | None = None,
) -> Solution:
    """Read a solution: CSV, or gzip or zip of one CSV, of at most 2 GB.

    Parameters
    ----------
    source : Path, bytes or seekable binary stream
    label : str, optional
        The label's column; without it the one column called target, label or toxicity.
    identities : sequence of str, optional
        The identities' columns, all others being ignored; without it every other column whose
        values are all blank or in 0..1.

    Returns
    -------
    Solution

    Raises
    ------
    FileRejected
        With everything that is wrong: one problem a class and column, the first five lines of each.
    WrongColumns
        A name that was asked for is not in the table.
    """
    choice = Choice(label, identities)
    columns, roles, by_name = _read(source, choice)
    assert columns.row_ids is not None  # noqa: S101 (the choice needs an id)
    return Solution(
        columns.row_ids,
        by_name[roles.label],
        {name: by_name[name] for name in roles.identities},
        columns.usage,
        roles,
    )


def read_scored_table(
    source: Path | bytes | BinaryIO,
    *,
    predictions: Sequence[str],
    label: str | None = None,
    identities: Sequence[str] | None = None,
) -> ScoredTable:
    """Read a table that holds predictions beside labels; it needs no id.

    Parameters
    ----------
    source, label, identities
        As in `read_solution`.
    predictions : sequence of str
        The columns of the models.

    Returns
    -------
    ScoredTable

    Raises
    ------
    FileRejected, WrongColumns
        As in `read_solution`.
    """
    choice = Choice(label, identities, predictions, needs_id=False)
    columns, roles, by_name = _read(source, choice)
    return ScoredTable(
        by_name[roles.label],
        {name: by_name[name] for name in roles.identities},
        columns.usage,
        {name: by_name[name] for name in predictions},
        roles,
    )


def _read(
    source: Path | bytes | BinaryIO, choice: Choice
) -> tuple[Columns, ColumnRoles, dict[str, NDArray[np.float64]]]:
    try:
        content = open_content(source, cap=SIZE_CAP)
        names, sample, problems = _beginning(content)
        assignment = _assigned(names, choice, problems)
        if isinstance(assignment, list):
            raise FileRejected("solution", [*problems, *assignment])
        columns = _columns(content, names, _wanted(assignment, names, sample, choice), problems)
    except Unreadable as error:
        raise FileRejected("solution", [error.problem]) from error
    identities = assignment.identities + tuple(
        column for column in assignment.candidates if column in columns.numbers
    )
    by_name = {names[column]: values for column, values in columns.numbers.items()}
    return columns, assignment.roles(names, identities), by_name


def _assigned(names: list[str], choice: Choice, problems: list[Problem]) -> Assignment | list[Problem]:
    try:
        return assign(names, choice)
    except WrongColumns as error:
        if problems:  # a damaged header is why the name is not there
            raise FileRejected("solution", problems) from error
        raise


def _beginning(content: Content) -> tuple[list[str], list[list[str]], list[Problem]]:
    """Return the names of the columns, the first rows, and what is wrong with the header."""
    with content.open() as stream:
        head = stream.read(_LONGEST_HEADER)
    if not head:
        raise FileRejected("solution", [_empty("The file is empty")])
    if encoding := wide_encoding(head[:64]):
        raise FileRejected("solution", [not_utf8(encoding)])
    lines = head.removeprefix(BOM_UTF8).splitlines()
    _reject_lines_above(lines)
    with text_stream(content.open(), errors="surrogateescape") as stream:
        records = csv.reader(stream)
        try:
            names = [name.strip(" \t") for name in next(records, [])]
            header_lines = records.line_num
            sample = list(islice(records, _SAMPLE_ROWS))
        except csv.Error as error:
            raise FileRejected("solution", [_bad_header(f"the header is unreadable ({error})")]) from error
    if not any(sample):
        raise FileRejected("solution", [_empty("The file has 0 rows")])
    if len(names) == 1 and (other := next((mark for mark in ";\t|" if mark in names[0]), None)):
        raise FileRejected("solution", [_bad_header(f"delimiter {quoted(other)} found")])
    numbered = enumerate(lines[:header_lines], start=1)
    problems = [problem for number, line in numbered for problem in invalid_utf8(line, number)]
    problems += invisible_characters([name for name in names if name != trimmed(name)], 1, _HEADER)
    return [trimmed(name) for name in names], sample, problems


def _reject_lines_above(lines: list[bytes]) -> None:
    """Refuse blank lines, comments and Excel's line ``sep=,`` where the header should be."""
    above = Findings()
    for number, line in enumerate(lines, start=1):
        code = fault_of_line_above(line)
        if code is None:
            break
        above.add(code, number, describe_line_above, code, line, _HEADER)
    else:
        raise FileRejected("solution", [_empty("The file holds only blank lines or comments")])
    if above:
        raise FileRejected("solution", above.problems())


def _wanted(assignment: Assignment, names: list[str], sample: list[list[str]], choice: Choice) -> Wanted:
    numbers = {assignment.label: _LABEL}
    numbers |= dict.fromkeys(assignment.identities, _IDENTITY)
    numbers |= dict.fromkeys(assignment.predictions, _PREDICTION)
    for column in assignment.candidates:
        if all(_may_be_identity(row[column]) for row in sample if len(row) == len(names)):
            numbers[column] = _CANDIDATE
    id_column = assignment.id if choice.needs_id else None
    return Wanted(len(names), id_column, assignment.usage, numbers)


def _may_be_identity(text: str) -> bool:
    value = number_of(text)
    return value is not None and _CANDIDATE.allows(value)


def _columns(content: Content, names: list[str], wanted: Wanted, problems: list[Problem]) -> Columns:
    """Read the rows, the fast way if they and the header are clean."""
    columns = None if problems else read_plain(content.open, wanted)
    if columns is not None:
        return columns
    columns, problems_of_rows = read_explained(content.open, wanted, names)
    if problems or problems_of_rows:
        raise FileRejected("solution", [*problems, *problems_of_rows])
    return columns


def _empty(fact: str) -> Problem:
    expected = f"{_HEADER}, and rows"
    return Problem("empty_file", f"{fact}; expected {expected}.", expected=expected, found=fact)


def _bad_header(found: str) -> Problem:
    message = f"Line 1: {found}; expected column names separated by ','."
    return Problem("wrong_delimiter", message, 1, (1,), 1, "','", found)

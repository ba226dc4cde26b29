"""Solutions of any metric: targets that are numbers or classes, groups of rows, and splits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import open_content
from grader.files.reading.problems import FileRejected
from grader.files.reading.row_ids import RowIds
from grader.files.reading.unreadable import NotReadable
from grader.files.solution.column_roles import ID_COLUMN, ColumnRole, guess_roles
from grader.files.solution.columns import Categories, NumberColumn, Wanted
from grader.files.solution.header import UNNAMED, check_columns, duplicate_columns, no_id, read_beginning
from grader.files.solution.rows import read_rows
from grader.files.solution.solution import SIZE_CAP, samples_of

_EXPECTED = "a header with id and a target"


@dataclass(frozen=True, slots=True)
class TargetTable:
    """The targets against which submissions are scored.

    Attributes
    ----------
    row_ids : RowIds
        The n ids in the order of the file.
    usage_column : str or None
    usage : array of int8, shape (n,), or None
        0 Ignored, 1 Public, 2 Private; None if there is no such column.
    numbers : dict of str to array of float64, shape (n,)
        Finite.
    texts : dict of str to Categories
        Without blanks.
    groups : dict of str to Categories
        Groups of rows; a row with a blank is in no group.
    unused : tuple of str
        All other columns.
    """

    row_ids: RowIds
    usage_column: str | None
    usage: NDArray[np.int8] | None
    numbers: dict[str, NDArray[np.float64]]
    texts: dict[str, Categories]
    groups: dict[str, Categories]
    unused: tuple[str, ...]


def read_targets(
    source: Path | bytes | BinaryIO,
    *,
    numbers: Mapping[str, tuple[float, float]],
    texts: Sequence[str] = (),
    groups: Sequence[str] = (),
    usage: Sequence[str] | None = None,
) -> TargetTable:
    """Read a solution with any targets from a plain, gzip or ZIP CSV of at most 2 GB.

    The column ``id`` contains the ids.

    Parameters
    ----------
    source : Path, bytes or seekable binary stream
    numbers : mapping of str to (float, float)
        The targets that are numbers, with the smallest and the largest allowed one.
    texts : sequence of str
        The targets that are classes or lists of classes.
    groups : sequence of str
        The columns that divide the rows into groups.
    usage : sequence of str, optional
        The column with the splits, or nothing; by default, ``Usage`` or one that contains Public and Private.

    Raises
    ------
    FileRejected
        With all problems: one per class and column, with the first five lines of each.
    WrongColumns
        A requested column is not in the table.
    """
    try:
        content = open_content(source, cap=SIZE_CAP)
        names, sample, problems = read_beginning(content, _EXPECTED)
        if usage is None:
            guesses = guess_roles(samples_of(names, sample))
            usage = [each.name for each in guesses if each.role is ColumnRole.USAGE]
        check_columns(names, [*numbers, *texts, *groups, *usage])
        usage_column = next(iter(usage), None)
        problems += duplicate_columns(names)
        if ID_COLUMN not in names:
            problems.append(no_id(names))
        if problems:
            raise FileRejected("solution", problems)
        wanted = Wanted(
            ID_COLUMN,
            usage_column,
            {name: NumberColumn("target", low, high) for name, (low, high) in numbers.items()},
            (*texts, *groups),
            frozenset(texts),
        )
        columns, problems = read_rows(content.open, wanted, names)
    except NotReadable as error:
        raise FileRejected("solution", [error.problem]) from error
    if problems:
        raise FileRejected("solution", problems)
    assert columns.row_ids is not None  # noqa: S101 (an id column was read)
    return TargetTable(
        columns.row_ids,
        usage_column,
        columns.usage,
        columns.numbers,
        {name: columns.texts[name] for name in texts},
        {name: columns.texts[name] for name in groups},
        tuple(name or UNNAMED for name in names if name not in wanted.names),
    )

"""Solution reader, also used for analysis tables that contain predictions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import open_content
from grader.files.reading.numbers import BLANKS
from grader.files.reading.problems import FileProblem, FileRejected
from grader.files.reading.row_ids import RowIds
from grader.files.reading.unreadable import NotReadable
from grader.files.solution.column_roles import (
    KNOWN_IDENTITIES,
    ColumnGuess,
    ColumnRole,
    ColumnSample,
    ColumnTally,
    NearMiss,
    guess_roles,
    may_be_guessed,
    role_of_fractions,
)
from grader.files.solution.columns import Categories, Columns, NumberColumn, Wanted
from grader.files.solution.header import Assignment, Choice, ColumnRoles, WrongColumns, assign, read_beginning
from grader.files.solution.rows import Progress, read_rows, unobserved

SIZE_CAP = 2_000_000_000
_LARGEST = float(np.finfo(np.float64).max)
_LABEL = NumberColumn("label")
_IDENTITY = NumberColumn("identity", may_be_blank=True)
_OTHER_LABEL = NumberColumn("other label", may_be_blank=True)
_CANDIDATE = replace(_IDENTITY, is_optional=True)
CONTINUOUS = FileProblem(
    "continuous_column", "Its values are continuous, such as predictions; choose its role yourself."
)
PREDICTION = NumberColumn("prediction", low=-_LARGEST, high=_LARGEST)


@dataclass(frozen=True, slots=True)
class Solution:
    """The labels and identities against which submissions are scored.

    Attributes
    ----------
    row_ids : RowIds
        The n ids in the order of the file.
    labels : array of float64, shape (n,)
        In 0..1.
    identities : dict of str to array of float64, shape (n,)
        In 0..1, or NaN for a blank, which means that the row does not mention the identity.
    usage : array of int8, shape (n,), or None
        0 Ignored, 1 Public, 2 Private; None if there is no such column.
    roles : ColumnRoles
    other_labels : dict of str to array of float64, shape (n,)
        In 0..1, or NaN for a blank; additional labels for analyses.
    slices : dict of str to Categories
        Groups of rows, for analyses.
    pair : Categories or None
        Rows with the same value are variants of one text.
    near_misses : tuple of NearMiss
        Columns without a chosen role that may be identities, but are continuous or contain other values than
        0..1. They are not used, and callers should warn about them.
    """

    row_ids: RowIds
    labels: NDArray[np.float64]
    identities: dict[str, NDArray[np.float64]]
    usage: NDArray[np.int8] | None
    roles: ColumnRoles
    other_labels: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    slices: dict[str, Categories] = field(default_factory=dict)
    pair: Categories | None = None
    near_misses: tuple[NearMiss, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoredTable:
    """A table with labels, identities and the predictions of models.

    Attributes
    ----------
    labels : array of float64, shape (n,)
    identities : dict of str to array of float64, shape (n,)
    usage : array of int8, shape (n,), or None
        As in `Solution`.
    predictions : dict of str to array of float64, shape (n,)
        Finite.
    roles : ColumnRoles
    near_misses : tuple of NearMiss
        As in `Solution`.
    """

    labels: NDArray[np.float64]
    identities: dict[str, NDArray[np.float64]]
    usage: NDArray[np.int8] | None
    predictions: dict[str, NDArray[np.float64]]
    roles: ColumnRoles
    near_misses: tuple[NearMiss, ...] = ()


def read_solution(
    source: Path | bytes | BinaryIO,
    *,
    label: str | None = None,
    identities: Sequence[str] | None = None,
    roles: Mapping[str, ColumnRole] | None = None,
    guessed: Collection[str] = (),
    named: Mapping[str, ColumnRole] | None = None,
    progress: Progress = unobserved,
) -> Solution:
    """Read a solution from a plain, gzip or ZIP CSV of at most 2 GB.

    Parameters
    ----------
    source : Path, bytes or seekable binary stream
    label : str, optional
        The label column; by default, the only column called target, label or toxicity.
    identities : sequence of str, optional
        The identity columns; all others are ignored. By default, the roles are guessed as by `guess_columns`.
        Columns that may be identities but cannot be read as such are returned as `near_misses`.
    roles : mapping of str to ColumnRole, optional
        The role of each column, instead of `label` and `identities`; unlisted columns are unused.
    guessed : collection of str
        Columns with a guessed role. If values of a numeric column contradict its role, the column is unused,
        but this is not a problem of the file. If only a few values contradict it, the column is in
        `near_misses`.
    named : mapping of str to ColumnRole, optional
        The roles of some columns, without `roles`.
    progress : callable
        Receives the number of rows read so far.

    Raises
    ------
    FileRejected
        With all problems: one per class and column, with the first five lines of each.
    WrongColumns
        A requested column is not in the table.
    """
    choice = Choice(label, identities, roles=roles, guessed=guessed, named=named or {})
    columns, found, near_misses = _read(source, choice, progress)
    assert columns.row_ids is not None  # noqa: S101 (the choice includes an id)
    return Solution(
        columns.row_ids,
        columns.numbers[found.label],
        {name: columns.numbers[name] for name in found.identities},
        columns.usage,
        found,
        {name: columns.numbers[name] for name in found.other_labels},
        {name: columns.texts[name] for name in found.slices},
        None if found.pair is None else columns.texts[found.pair],
        near_misses,
    )


def guess_columns(source: Path | bytes | BinaryIO) -> tuple[ColumnGuess, ...]:
    """Guess the role of every column of a solution from its header and first rows.

    Parameters
    ----------
    source : Path, bytes or seekable binary stream
        As in `read_solution`.

    Raises
    ------
    FileRejected
        The file or its header cannot be read.
    """
    try:
        names, sample, problems = read_beginning(open_content(source, cap=SIZE_CAP))
    except NotReadable as error:
        raise FileRejected("solution", [error.problem]) from error
    if problems:
        raise FileRejected("solution", problems)
    return guess_roles(samples_of(names, sample))


def samples_of(names: Sequence[str], sample: Sequence[Sequence[str]]) -> list[ColumnSample]:
    """Return the first values of each column, given the first rows."""
    rows = [row for row in sample if len(row) == len(names)]
    return [_column_sample(name, [row[n] for row in rows]) for n, name in enumerate(names)]


def _column_sample(name: str, texts: Sequence[str]) -> ColumnSample:
    shown = tuple(text.strip(BLANKS).replace("\0", "").encode("utf-8", "replace").decode() for text in texts)
    return ColumnSample(name, shown, ColumnTally.of(texts, is_known=name.casefold() in KNOWN_IDENTITIES))


def read_scored_table(
    source: Path | bytes | BinaryIO,
    *,
    predictions: Sequence[str],
    label: str | None = None,
    identities: Sequence[str] | None = None,
    named: Mapping[str, ColumnRole] | None = None,
) -> ScoredTable:
    """Read a table that contains both labels and predictions; no id column is needed.

    Parameters
    ----------
    source, label, identities, named
        As in `read_solution`.
    predictions : sequence of str
        The prediction columns of the models.

    Raises
    ------
    FileRejected, WrongColumns
        As in `read_solution`.
    """
    choice = Choice(label, identities, predictions, needs_id=False, named=named or {})
    columns, roles, near_misses = _read(source, choice)
    return ScoredTable(
        columns.numbers[roles.label],
        {name: columns.numbers[name] for name in roles.identities},
        columns.usage,
        {name: columns.numbers[name] for name in predictions},
        roles,
        near_misses,
    )


def _read(
    source: Path | bytes | BinaryIO, choice: Choice, progress: Progress = unobserved
) -> tuple[Columns, ColumnRoles, tuple[NearMiss, ...]]:
    try:
        content = open_content(source, cap=SIZE_CAP)
        names, sample, problems = read_beginning(content)
        samples = samples_of(names, sample)
        assignment = _assigned(samples, choice, problems)
        if isinstance(assignment, list):
            raise FileRejected("solution", [*problems, *assignment])
        wanted = _wanted(assignment, samples, needs_id=choice.needs_id)
        columns, problems_of_rows = read_rows(content.open, wanted, names, progress)
        problems += problems_of_rows
        if problems:
            near = [problem for misfits in columns.near_misses.values() for problem in misfits.problems]
            raise FileRejected("solution", [*problems, *near])
    except NotReadable as error:
        raise FileRejected("solution", [error.problem]) from error
    near_misses = [
        _near_miss(name, misfits.fitting, misfits.problems) for name, misfits in columns.near_misses.items()
    ]
    numbers = columns.numbers.copy()
    for name in (*assignment.candidates, *assignment.watched):
        values = numbers.pop(name, None)
        if values is None or np.isnan(values).all():
            continue
        if not may_be_guessed(name, values):
            near_misses.append(_near_miss(name, values.size, [CONTINUOUS]))
        elif name in assignment.candidates:
            numbers[name] = values
    roles = assignment.roles(names, numbers, [each.name for each in near_misses])
    return replace(columns, numbers=numbers), roles, tuple(near_misses)


def _near_miss(name: str, fitting: int, problems: Sequence[FileProblem]) -> NearMiss:
    return NearMiss(name, role_of_fractions(name), fitting, tuple(problems))


def _assigned(
    samples: list[ColumnSample], choice: Choice, problems: list[FileProblem]
) -> Assignment | list[FileProblem]:
    try:
        return assign(samples, choice)
    except WrongColumns as error:
        # A damaged header explains why the column is missing.
        if problems:
            raise FileRejected("solution", problems) from error
        raise


def _wanted(assignment: Assignment, samples: list[ColumnSample], *, needs_id: bool) -> Wanted:
    numbers = {assignment.label: _LABEL}
    numbers |= dict.fromkeys(assignment.identities, _IDENTITY)
    numbers |= dict.fromkeys(assignment.predictions, PREDICTION)
    tallies = {sample.name: sample.tally for sample in samples}
    for name in (*assignment.candidates, *assignment.watched):
        if tallies[name].may_be_near:
            numbers[name] = replace(_CANDIDATE, is_known=tallies[name].is_known)
    numbers |= dict.fromkeys(assignment.other_labels, _OTHER_LABEL)
    numbers |= dict.fromkeys(assignment.guessed_labels, replace(_OTHER_LABEL, is_optional=True))
    id_column = assignment.id if needs_id else None
    texts = assignment.slices + (() if assignment.pair is None else (assignment.pair,))
    return Wanted(id_column, assignment.usage, numbers, texts)

"""Solution reader: true values for any metric, identities or groups, splits, and predictions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import Source
from grader.files.reading.problems import FileProblem, FileRejected, reading
from grader.files.reading.row_ids import RowIds
from grader.files.solution.columns import Categories, Columns, NumberColumn, Wanted
from grader.files.solution.header import duplicate_columns, no_id, read_beginning
from grader.files.solution.roles import (
    ID_COLUMN,
    ONCE,
    ColumnGuess,
    ColumnRole,
    ColumnRoles,
    WrongColumns,
    check_columns,
    faults_of_roles,
    proposed_roles,
    undecided,
    with_named,
)
from grader.files.solution.rows import read_rows

SIZE_CAP = 2_000_000_000
_LARGEST = float(np.finfo(np.float64).max)
_LABEL = NumberColumn("label")
_IDENTITY = NumberColumn("identity", may_be_blank=True)
_OTHER_LABEL = NumberColumn("other label", may_be_blank=True)
PREDICTION = NumberColumn("prediction", low=-_LARGEST, high=_LARGEST)


@dataclass(frozen=True, slots=True)
class Solution:
    """The true values against which submissions are scored.

    Attributes
    ----------
    row_ids : RowIds
        The n ids in the order of the file; the numbers of the rows in a scored table.
    roles : ColumnRoles
    labels : array of float64, shape (n,)
        The labels of the bias metric in 0..1, or the first target as numbers.
    usage : array of int8, shape (n,), or None
        0 Ignored, 1 Public, 2 Private; None if there is no such column.
    identities : dict of str to array of float64, shape (n,)
        In 0..1, or NaN for a blank, which means that the row does not mention the identity.
    slices : dict of str to Categories
        Groups of rows.
    targets : dict of str to ndarray, shape (n,) or (n, places)
        The true values of other metrics by their names in the metric: numbers, or the positions of classes.
    names, classes : tuple of str
        The columns of the targets, and the classes to which they refer.
    other_labels : dict of str to array of float64, shape (n,)
        In 0..1, or NaN for a blank; additional labels for analyses.
    pair : Categories or None
        Rows with the same value are variants of one text.
    predictions : dict of str to array of float64, shape (n,)
        Finite; only in a scored table.
    """

    row_ids: RowIds
    roles: ColumnRoles
    labels: NDArray[np.float64]
    usage: NDArray[np.int8] | None
    identities: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    slices: dict[str, Categories] = field(default_factory=dict)
    targets: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    other_labels: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    pair: Categories | None = None
    predictions: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The targets, and the groups as texts."""
        groups = {name: np.array(column.texts(), object) for name, column in self.slices.items()}
        return {**self.targets, **groups}

    @classmethod
    def of_targets(
        cls,
        read: tuple[Columns, ColumnRoles],
        targets: Mapping[str, NDArray[Any]],
        *,
        names: Sequence[str],
        classes: Sequence[str],
    ) -> "Solution":
        """Return the solution of another metric, from the output of `read_targets`."""
        columns, roles = read
        first = next(iter(targets.values()), np.empty(0))
        return cls(
            columns.row_ids,
            roles,
            (first[:, 0] if first.ndim > 1 else first).astype(np.float64),
            columns.usage,
            slices={name: columns.texts[name] for name in roles.having(ColumnRole.SLICE)},
            targets=targets,
            names=tuple(names),
            classes=tuple(classes),
        )


@reading("solution")
def read_solution(
    source: Source,
    *,
    label: str | None = None,
    identities: Sequence[str] | None = None,
    roles: Mapping[str, ColumnRole] | None = None,
    proposed: Collection[str] = (),
    named: Mapping[str, ColumnRole] | None = None,
    predictions: Sequence[str] | None = None,
) -> Solution:
    """Read a solution of the bias metric from a plain, gzip or ZIP CSV of at most 2 GB.

    Parameters
    ----------
    source : Path, bytes or seekable binary stream
    label : str, optional
        The label column; by default, the only column called target, label or toxicity.
    identities : sequence of str, optional
        The identity columns; all others are ignored. By default, the roles are those of `guess_columns`, and
        a column of which neither the name nor the values explain the role is a problem of the file.
    roles : mapping of str to ColumnRole, optional
        The role of each column, instead of `label` and `identities`; unlisted columns are unused.
    proposed : collection of str
        Columns in `roles` whose role no one has chosen; then only one column may be called a label.
    named : mapping of str to ColumnRole, optional
        The roles of some columns, without `roles`.
    predictions : sequence of str, optional
        The columns with the predictions of models in a scored table, which needs no id column.

    Raises
    ------
    FileRejected
        With all problems: one per class and column, with the first five lines of each.
    WrongColumns
        A requested column is not in the table.
    """
    return _read(source, _Choice(label, identities, roles, named or {}, proposed, predictions))


@reading("solution")
def read_targets(
    source: Source,
    *,
    numbers: Mapping[str, tuple[float, float]],
    texts: Sequence[str] = (),
    groups: Sequence[str] = (),
    usage: Sequence[str] | None = None,
    row_id: str | None = None,
) -> tuple[Columns, ColumnRoles]:
    """Read the true values of any metric.

    Parameters
    ----------
    source
        As in `read_solution`.
    numbers : mapping of str to (float, float)
        The targets that are numbers, with the smallest and the largest allowed one.
    texts : sequence of str
        The targets that are classes or lists of classes, without blanks.
    groups : sequence of str
        The columns that divide the rows into groups; a row with a blank is in no group.
    usage : sequence of str, optional
        The column with the splits, or nothing; by default, ``Usage`` or one that contains Public and Private.
    row_id : str, optional
        The column with the ids; by default, the one that `guess_columns` proposes.

    Raises
    ------
    FileRejected, WrongColumns
        As in `read_solution`.
    """
    names, sample, problems = read_beginning(source, SIZE_CAP, "a header with id and a target")
    proposed = {each.role: each.name for each in reversed(proposed_roles(names, sample))}
    if usage is None:
        usage = [proposed[ColumnRole.USAGE]] if ColumnRole.USAGE in proposed else []
    row_id = row_id or proposed.get(ColumnRole.ID)
    check_columns(names, [*filter(None, [row_id]), *numbers, *texts, *groups, *usage])
    problems += duplicate_columns(names)
    if row_id is None:
        problems.append(no_id(names))
    if problems:
        raise FileRejected(*problems)
    roles = dict.fromkeys((*numbers, *texts), ColumnRole.LABEL) | dict.fromkeys(groups, ColumnRole.SLICE)
    roles |= dict.fromkeys(usage[:1], ColumnRole.USAGE) | {row_id or "": ColumnRole.ID}
    columns_of = {name: NumberColumn("target", low, high) for name, (low, high) in numbers.items()}
    wanted = Wanted(row_id, next(iter(usage), None), columns_of, (*texts, *groups), frozenset(texts))
    columns, problems = read_rows(source, SIZE_CAP, wanted, names)
    if problems:
        raise FileRejected(*problems)
    return columns, ColumnRoles.of(names, roles)


@reading("solution")
def guess_columns(source: Source) -> tuple[ColumnGuess, ...]:
    """Propose the role of every column of a solution from its header and first rows; raise FileRejected."""
    names, sample, problems = read_beginning(source, SIZE_CAP)
    if problems:
        raise FileRejected(*problems)
    return proposed_roles(names, sample)


@dataclass(frozen=True, slots=True)
class _Choice:
    """The caller's choice of columns: some names and roles, or the role of each."""

    label: str | None
    identities: Sequence[str] | None
    roles: Mapping[str, ColumnRole] | None
    named: Mapping[str, ColumnRole]
    proposed: Collection[str]
    predictions: Sequence[str] | None

    def of(
        self, names: Sequence[str], sample: Sequence[Sequence[str]]
    ) -> tuple[Mapping[str, ColumnRole], list[FileProblem]]:
        """Return the role of each column, and the problems; raise WrongColumns."""
        known = [name for name in names if name]
        if self.roles is not None:
            used = [name for name, role in self.roles.items() if name or role is not ColumnRole.UNUSED]
            check_columns(known, [name for name in used if name != ID_COLUMN])
            return self.roles, duplicate_columns(names) or faults_of_roles(names, self.roles, self.proposed)
        predictions, identities = self.predictions or (), self.identities or ()
        labels = [] if self.label is None else [self.label]
        others = [name for name in self.named if name != ID_COLUMN]
        check_columns(known, [*labels, *identities, *predictions, *others])
        guesses = proposed_roles(names, sample)
        proposed = {each.name: each.role for each in guesses if each.name}
        if self.identities is not None:
            proposed = {name: role if role in ONCE else ColumnRole.UNUSED for name, role in proposed.items()}
        named = dict.fromkeys(predictions, ColumnRole.UNUSED)
        named |= dict.fromkeys(identities, ColumnRole.IDENTITY) | dict(self.named)
        named |= dict.fromkeys(labels, ColumnRole.LABEL)
        roles = with_named(proposed, named)
        problems = duplicate_columns(names)
        for problem in faults_of_roles(names, roles, proposed.keys() - named.keys()):
            if problem.code != "missing_id":
                problems.append(problem)
            elif self.predictions is None:
                problems.append(no_id(names))
        if self.identities is None and not problems:
            problems = undecided(guesses, named)
        return roles, problems


def _read(source: Source, choice: _Choice) -> Solution:
    names, sample, problems = read_beginning(source, SIZE_CAP)
    try:
        roles, faults = choice.of(names, sample)
    except WrongColumns as error:
        # A damaged header explains why the column is missing.
        if problems:
            raise FileRejected(*problems) from error
        raise
    if faults:
        raise FileRejected(*problems, *faults)
    predictions = choice.predictions or ()
    known = ColumnRoles.of(names, roles, identities=choice.identities or (), predictions=predictions)
    others, slices = known.having(ColumnRole.OTHER_LABEL), known.having(ColumnRole.SLICE)
    pairs = known.having(ColumnRole.PAIR)
    numbers = {known.label: _LABEL} | dict.fromkeys(known.identities, _IDENTITY)
    numbers |= dict.fromkeys(predictions, PREDICTION) | dict.fromkeys(others, _OTHER_LABEL)
    wanted = Wanted(known.id if choice.predictions is None else None, known.usage, numbers, (*slices, *pairs))
    columns, problems_of_rows = read_rows(source, SIZE_CAP, wanted, names)
    if problems := [*problems, *problems_of_rows]:
        raise FileRejected(*problems)
    return Solution(
        columns.row_ids,
        known,
        columns.numbers[known.label],
        columns.usage,
        identities={name: columns.numbers[name] for name in known.identities},
        slices={name: columns.texts[name] for name in slices},
        other_labels={name: columns.numbers[name] for name in others},
        pair=next((columns.texts[name] for name in pairs), None),
        predictions={name: columns.numbers[name] for name in predictions},
    )

"""Leak check of one data file: its tables and the columns that disclose the solution."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from grader.disclosure.agreement import Values, agreeing
from grader.disclosure.evidence import Evidence
from grader.disclosure.hidden import Hidden, Kind
from grader.disclosure.layers import DAMAGED_OR_GIVEN_UP, Unopened, opened, unopened_by
from grader.disclosure.preview import Sample
from grader.disclosure.source import CHUNK_BYTES, Budget, Source
from grader.disclosure.tables import Table

ORDER, PRESENCE = "the order of its rows", "which rows are in it"
MOST_UNOPENED = 50


@dataclass(frozen=True, slots=True)
class Disclosure:
    """A column that gives something hidden away.

    Attributes
    ----------
    table : str
        Where in the file, empty for all of it.
    column : str
        Its name; or the order of the rows, or which rows are in the table.
    kind : Kind
    names : tuple of str
        The columns of the solution that it agrees with.
    rows : int
        On so many rows of the solution it was found.
    """

    table: str
    column: str
    kind: Kind
    names: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Examined:
    """What came of looking through a file.

    Attributes
    ----------
    disclosures : tuple of Disclosure
    unopened : tuple of Unopened
        At most so many are named as anybody reads; `unopened_count` counts all.
    unopened_count : int
    tables, rows : int
        How many were read.
    preview : dict or None
        The first rows and the column statistics of the first table.
    """

    disclosures: tuple[Disclosure, ...]
    unopened: tuple[Unopened, ...]
    unopened_count: int
    tables: int
    rows: int
    preview: dict[str, Any] | None = None


def examine(file: IO[bytes], hidden: Hidden, *, budget: Budget | None = None) -> Examined:
    """Check a file of any format for columns that agree with hidden facts.

    Parameters
    ----------
    file : binary file
        Read once from the beginning.
    hidden : Hidden
    budget : Budget, optional

    Returns
    -------
    Examined
        It raises nothing at what a file holds: what cannot be read is named.

    Raises
    ------
    NotReadNow
        The bytes did not come, or found no room: nothing is known of the file.
    """
    budget = budget or Budget()
    disclosures: list[Disclosure] = []
    unopened: list[Unopened] = []
    unopened_count = tables = rows = 0
    sample = Sample()
    for each in opened(io.BufferedReader(Source(file), CHUNK_BYTES), budget):
        fault: Unopened | None
        if isinstance(each, Unopened):
            fault = each
        else:
            evidence = Evidence(hidden, budget.go_on)
            fault = _read(sample.of(each), evidence)
            tables, rows = tables + 1, rows + evidence.row_count
            disclosures += _found(each, evidence)
        if fault is not None:
            unopened_count += 1
            unopened += [fault] if len(unopened) < MOST_UNOPENED else []
    found = tuple(dict.fromkeys(disclosures))
    return Examined(found, tuple(unopened), unopened_count, tables, rows, sample.stored())


def _read(table: Table, evidence: Evidence) -> Unopened | None:
    """Read a table as far as possible, and check the part that was read."""
    try:
        evidence.read(table.chunks)
    except DAMAGED_OR_GIVEN_UP as error:
        return unopened_by(table.name, error)
    return None


def _found(table: Table, evidence: Evidence) -> Iterator[Disclosure]:
    for gathered in evidence.by_id.values():
        for column, values in gathered.all():
            yield from _told(table, column, values, evidence.hidden)
        yield from _told(table, ORDER, gathered.places(), evidence.hidden)
        yield from _told(table, PRESENCE, gathered.presence(), evidence.hidden)
    for order, column, values in evidence.aligned():
        for told in _told(table, column, values, evidence.hidden):
            if told.kind is not Kind.USAGE or not order.is_by_usage:  # any count of the rows agrees then
                yield told


def _told(table: Table, column: str, values: Values, hidden: Hidden) -> Iterator[Disclosure]:
    if values.rows.size < 2:
        return
    by_kind: dict[Kind, list[str]] = {}
    for number in agreeing(values, hidden.truths, hidden.said):
        target = hidden.targets[number]
        by_kind.setdefault(target.kind, []).append(target.name)
    for kind, names in by_kind.items():
        yield Disclosure(table.name, column, kind, tuple(dict.fromkeys(names)), int(values.rows.size))

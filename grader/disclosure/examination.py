"""Leak check of a single data file: its tables, and columns that disclose the solution."""

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
    """A column that discloses hidden values.

    Attributes
    ----------
    table : str
        The table's path in the file; empty if the file is a single table.
    column : str
        The column's name, `ORDER` for the order of the rows, or `PRESENCE` for their presence in the table.
    kind : Kind
    names : tuple of str
        Solution columns with which the column agrees.
    rows : int
        The number of compared rows of the solution.
    """

    table: str
    column: str
    kind: Kind
    names: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Examined:
    """The result of the leak check of a file.

    Attributes
    ----------
    disclosures : tuple of Disclosure
    unopened : tuple of Unopened
        The first `MOST_UNOPENED` parts that could not be read.
    unopened_count : int
        The number of all parts that could not be read.
    tables, rows : int
        The numbers of tables and rows that were read.
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
    """Check a file of any format for columns that agree with hidden values.

    Parameters
    ----------
    file : binary file
        Read once from the start.
    hidden : Hidden
    budget : Budget, optional

    Returns
    -------
    Examined
        Parts that cannot be read are listed in the result. No file content raises an exception.

    Raises
    ------
    NotReadNow
        The storage failed or the disk is full, so the check has no result.
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
    """Collect evidence from the readable part of a table; return the error, if any."""
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
            # If the rows are sorted by Usage, any column that numbers the rows agrees with Usage.
            if told.kind is not Kind.USAGE or not order.is_by_usage:
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

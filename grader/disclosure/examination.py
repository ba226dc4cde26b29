"""Leak check of a single data file: its tables, and columns that disclose the solution."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from grader.disclosure.agreement import agreeing, is_copy
from grader.disclosure.evidence import Evidence
from grader.disclosure.files import DAMAGED_OR_GIVEN_UP, Unopened, opened, unopened_by
from grader.disclosure.hidden import Hidden, TargetKind
from grader.disclosure.preview import Sample
from grader.disclosure.source import Budget
from grader.disclosure.tables import FileTable

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
    kind: TargetKind
    names: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Examined:
    """The result of the leak check of a file.

    Attributes
    ----------
    disclosures : tuple of Disclosure
    unopened : tuple of Unopened
        The first `MOST_UNOPENED` parts that were not checked.
    unopened_count : int
        The number of all parts that were not checked.
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
    """Check a file for columns that agree with hidden values.

    Parameters
    ----------
    file : binary file
        Seekable, at its start.
    hidden : Hidden
    budget : Budget, optional

    Returns
    -------
    Examined
        Parts that are not checked are listed in the result. No file content raises an exception.
    """
    budget = budget or Budget()
    disclosures: dict[Disclosure, None] = {}
    unopened: list[Unopened] = []
    tables = rows = 0
    sample: Sample | None = None
    for each in opened(file, budget):
        if isinstance(each, Unopened):
            unopened.append(each)
            continue
        sample = sample or Sample(each)
        evidence = Evidence(hidden, budget.go_on)
        try:
            evidence.read(each)
        except DAMAGED_OR_GIVEN_UP as error:
            unopened.append(unopened_by(each.name, error))
        tables, rows = tables + 1, rows + evidence.row_count
        disclosures |= dict.fromkeys(_disclosures(each, evidence, hidden))
    preview = sample.stored() if sample else None
    return Examined(tuple(disclosures), tuple(unopened[:MOST_UNOPENED]), len(unopened), tables, rows, preview)


def _disclosures(table: FileTable, evidence: Evidence, hidden: Hidden) -> Iterator[Disclosure]:
    """Yield what a table discloses, even if only a part of it could be read."""

    def agreeing_with(column: str, texts: Sequence[str], rows: Sequence[int]) -> Iterator[Disclosure]:
        by_kind: dict[TargetKind, dict[str, None]] = {}
        for number in agreeing(texts, hidden.truths[rows], most_categories=hidden.most_categories):
            target = hidden.targets[number]
            by_kind.setdefault(target.kind, {})[target.name] = None
        for name, written in hidden.written:
            if is_copy(texts, written[hidden.drawn[rows]]):
                by_kind.setdefault(TargetKind.LABEL, {})[name] = None
        for kind, names in by_kind.items():
            yield Disclosure(table.name, column, kind, tuple(names), len(rows))

    for gathered in evidence.by_id.values():
        numbers = gathered.numbers
        for column, name in enumerate(table.names):
            yield from agreeing_with(name, gathered.texts(column, numbers), numbers)
        yield from agreeing_with(ORDER, gathered.positions(), numbers)
        yield from agreeing_with(PRESENCE, gathered.presence(), range(gathered.size))
    for gathered, slots, rows in evidence.aligned():
        for column, name in enumerate(table.names):
            yield from agreeing_with(name, gathered.texts(column, slots), rows)

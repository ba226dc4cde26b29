"""Data file preview: first rows and column statistics of the first table.

The leak check computes the preview once from a bounded sample of the first rows.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.disclosure.tables import Chunk, Table, text_of

SAMPLE_ROWS, BATCH_ROWS, SHOWN_ROWS, SHOWN_COLUMNS = 10_000, 100, 5, 20
SAMPLE_CHARACTERS = 4_000_000
CELL_LENGTH, NUMBER_LENGTH = 80, 40


@dataclass(eq=False)
class _Column:
    first: list[str] = field(default_factory=list)
    blank: int = 0
    seen: set[int] = field(default_factory=set)
    numbers: list[float] = field(default_factory=list)
    is_numeric: bool = True

    def add(self, text: str) -> None:
        if len(self.first) < SHOWN_ROWS:
            self.first.append(_shown(text))
        if not text:
            self.blank += 1
            return
        self.seen.add(hash(text))
        number = _number(text) if self.is_numeric else None
        if number is None:
            self.is_numeric, self.numbers = False, []
        else:
            self.numbers.append(number)

    def statistics(self) -> dict[str, Any]:
        found: dict[str, Any] = {"blank": self.blank, "distinct": len(self.seen)}
        if self.numbers:
            mean = math.fsum(each / len(self.numbers) for each in self.numbers)
            numbers = {"low": min(self.numbers), "mean": mean, "high": max(self.numbers)}
            found |= {name: f"{value:.6g}" for name, value in numbers.items()}
        return found


class Sample:
    """A sample of the first table, with limits that hold even for malicious files."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._columns: dict[str, _Column] = {}
        self._column_count = self._rows = self._passed = self._characters = 0

    def of(self, table: Table) -> Table:
        """Return the table; the chunks of the first table are sampled as they are read."""
        if self._name is not None:
            return table
        self._name = table.name
        return Table(table.name, self._passing(table.chunks))

    def stored(self) -> dict[str, Any] | None:
        """Return the preview as JSON-ready data, or None if there are no rows."""
        if not self._rows:
            return None
        return {
            "table": _shown(self._name or ""),
            "rows": self._rows,
            "is_sample": self._passed > self._rows,
            "column_count": self._column_count,
            "columns": [{"name": _shown(name)} | each.statistics() for name, each in self._columns.items()],
            "first": [
                list(row) for row in zip(*(each.first for each in self._columns.values()), strict=True)
            ],
        }

    def _passing(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            self._column_count = max(self._column_count, len(chunk.names))
            start = 1 if not self._passed and _has_header(chunk) else 0
            self._passed += chunk.row_count - start
            end = min(chunk.row_count, start + SAMPLE_ROWS - self._rows)
            for batch in range(start, end, BATCH_ROWS):
                if self._characters >= SAMPLE_CHARACTERS:
                    break
                self._take(chunk, np.arange(batch, min(batch + BATCH_ROWS, end)))
            yield chunk

    def _take(self, chunk: Chunk, rows: Any) -> None:
        names = [*self._columns, *(name for name in chunk.names if name not in self._columns)]
        known = set(chunk.names)
        for name in names[:SHOWN_COLUMNS]:
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = _Column()
                for _ in range(self._rows):
                    column.add("")
            for cell in chunk.cells(name, rows) if name in known else [""] * rows.size:
                text = text_of(cell)
                self._characters += len(text)
                column.add(text)
        self._rows += int(rows.size)


def _has_header(chunk: Chunk) -> bool:
    """Return whether the first row repeats the column names, as in a CSV file with a header."""
    if not chunk.row_count:
        return False
    first = np.arange(1)
    same = sum(re.sub(r"\s+", " ", text_of(chunk.cells(name, first)[0]))[:60] == name for name in chunk.names)
    return 0 < len(chunk.names) <= 2 * same


def _number(text: str) -> float | None:
    if len(text) > NUMBER_LENGTH:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _shown(text: str) -> str:
    """Shorten a text, and replace control characters, bidirectional marks and lone surrogates."""
    cut = "".join(each if each.isprintable() else " " for each in text[:CELL_LENGTH])
    return f"{cut}…" if len(text) > CELL_LENGTH else cut

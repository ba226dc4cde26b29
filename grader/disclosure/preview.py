"""Data file preview: first rows and column statistics of the first table.

The leak check computes the preview once from a bounded sample of the first rows.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from grader.disclosure.tables import NAME_LENGTH, FileTable

SAMPLE_ROWS, SHOWN_ROWS, SHOWN_COLUMNS = 10_000, 5, 20
SAMPLE_CHARACTERS = 4_000_000
CELL_LENGTH, NUMBER_LENGTH = 80, 40


class Sample:
    """A sample of a table, with limits that hold even for malicious files."""

    def __init__(self, table: FileTable) -> None:
        self.table = table
        self._rows: list[list[str]] = []
        self._passed = 0
        table.rows = self._passing(table.rows)

    def stored(self) -> dict[str, Any] | None:
        """Return the preview as JSON-ready data, or None if there are no rows."""
        if not self._rows:
            return None
        names = self.table.names[:SHOWN_COLUMNS]
        rows = [row + [""] * (len(names) - len(row)) for row in self._rows]
        return {
            "table": _shown(self.table.name),
            "rows": len(rows),
            "is_sample": self._passed > len(rows),
            "column_count": len(self.table.names),
            "columns": [
                {"name": _shown(name)} | _statistics(column)
                for name, column in zip(names, zip(*rows, strict=True), strict=True)
            ],
            "first": [[_shown(cell) for cell in row] for row in rows[:SHOWN_ROWS]],
        }

    def _passing(self, rows: Iterator[list[str]]) -> Iterator[list[str]]:
        """Yield the rows of the table; keep the first ones."""
        characters = 0
        for number, row in enumerate(rows):
            if number or not _is_header(row, self.table.names):
                self._passed += 1
                if len(self._rows) < SAMPLE_ROWS and characters < SAMPLE_CHARACTERS:
                    self._rows.append([cell.strip() for cell in row[:SHOWN_COLUMNS]])
                    characters += sum(map(len, self._rows[-1]))
            yield row


def _statistics(column: Sequence[str]) -> dict[str, Any]:
    filled = [text for text in column if text]
    shown: dict[str, Any] = {"blank": len(column) - len(filled), "distinct": len(set(filled))}
    numbers = [_number(text) for text in filled]
    if numbers and all(map(math.isfinite, numbers)):
        mean = math.fsum(number / len(numbers) for number in numbers)
        statistics = {"low": min(numbers), "mean": mean, "high": max(numbers)}
        shown |= {name: f"{value:.6g}" for name, value in statistics.items()}
    return shown


def _is_header(row: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether the first row repeats the column names, as in a CSV file with a header."""
    same = sum(" ".join(cell.split())[:NAME_LENGTH] == name for cell, name in zip(row, names, strict=False))
    return 0 < len(names) <= 2 * same


def _number(text: str) -> float:
    if len(text) > NUMBER_LENGTH:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def _shown(text: str) -> str:
    """Shorten a text, and replace control characters, bidirectional marks and lone surrogates."""
    cut = "".join(each if each.isprintable() else " " for each in text[:CELL_LENGTH])
    return f"{cut}…" if len(text) > CELL_LENGTH else cut

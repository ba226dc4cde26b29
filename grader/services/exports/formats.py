"""Export rows as CSV or JSON, streamed in chunks."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from grader.text import csv_lines

CHUNK = 500

Row = Mapping[str, Any]


def as_csv(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    """Return rows as CSV, piece by piece; other columns are left out."""
    yield csv_lines([columns])
    for batch in _batches(rows):
        yield csv_lines([[_cell(row.get(column)) for column in columns] for row in batch])


def _cell(value: Any) -> Any:
    """Return a cell's text: lists, objects, true and false as in JSON."""
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def as_json(rows: Iterable[Row], about: Row) -> Iterator[str]:
    """Return a JSON object of `about` and all `rows`, piece by piece."""
    head = json.dumps(about, ensure_ascii=False)
    yield f'{head[:-1]}, "rows": ['
    separator = "\n"
    for batch in _batches(rows):
        yield separator + ",\n".join(json.dumps(row, ensure_ascii=False) for row in batch)
        separator = ",\n"
    yield "\n]}\n"


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == CHUNK:
            yield batch
            batch = []
    if batch:
        yield batch

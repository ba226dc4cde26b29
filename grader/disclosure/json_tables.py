"""Read JSON as tables: JSON lines, records, columns, and objects keyed by id."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO, Any

from grader.disclosure.budget import GivenUp
from grader.disclosure.tables import CHUNK_CHARACTERS, CHUNK_ROWS, MOST_COLUMNS, Chunk, Table, chunk_of

LONGEST_LINE = 1 << 24
LARGEST_DOCUMENT = 64_000_000
DEEPEST = 4


def json_lines(stream: IO[str]) -> Iterator[Chunk]:
    """Yield the rows of a file with one JSON object (or list) a line."""
    number = 0
    while some := _some(stream):
        records = []
        for line in some:
            number += 1
            if line.strip():
                try:
                    records.append(json.loads(line))
                except (ValueError, RecursionError) as error:
                    raise GivenUp(f"line {number:,} is not JSON ({error})") from error
        yield of_records(records)


def _some(stream: IO[str]) -> list[str]:
    """Return the next lines: so many, or so long."""
    lines: list[str] = []
    size = 0
    while len(lines) < CHUNK_ROWS and size < CHUNK_CHARACTERS and (line := stream.readline(LONGEST_LINE)):
        lines.append(line)
        size += len(line)
    return lines


def json_tables(name: str, data: Any, depth: int = 0) -> Iterator[Table]:
    """Yield what a JSON document may be as tables: records, columns, or an object with ids for keys."""
    if isinstance(data, list) and data:
        yield Table(name, iter([of_records(data)]))
    elif isinstance(data, dict) and data:
        values = list(data.values())
        if all(not isinstance(each, dict) or len(each) < MOST_COLUMNS for each in values):
            yield Table(name, iter([of_records([{"key": key, "value": each} for key, each in data.items()])]))
        lengths = {len(each) for each in values if isinstance(each, list)}
        if len(lengths) == 1 and all(isinstance(each, list) for each in values):
            columns = {str(key): column for key, column in data.items()}
            yield Table(name, iter([chunk_of(columns, lengths.pop())]))
            return
        if all(isinstance(each, dict) for each in values):
            keys = list(dict.fromkeys(key for each in values for key in each))
            columns = {"key": keys} | {
                str(outer): [each.get(key) for key in keys]
                for outer, each in islice(data.items(), MOST_COLUMNS)
            }
            yield Table(name, iter([chunk_of(columns, len(keys))]))
        if depth < DEEPEST:
            for key, each in islice(data.items(), MOST_COLUMNS):
                if isinstance(each, list | dict) and len(each) > 1:
                    yield from json_tables(f"{name}: {key}", each, depth + 1)


def of_records(records: Sequence[Any]) -> Chunk:
    """Return records as columns: nested objects and lists by the path to each value."""
    columns: dict[str, list[Any]] = {}
    first = records[0] if records else None
    if isinstance(first, dict) and all(
        isinstance(each, dict) and each.keys() == first.keys() for each in records
    ):
        flat = {key: [record[key] for record in records] for key in first}  # by far the most files are so
        if len(flat) <= MOST_COLUMNS and not any(map(_is_nested, flat.values())):
            return chunk_of({str(key): column for key, column in flat.items()}, len(records))
    for number, record in enumerate(records):
        for path, value in _leaves(record, "", 0):
            if path not in columns:
                if len(columns) == MOST_COLUMNS:
                    raise GivenUp(f"it has more than {MOST_COLUMNS:,} keys")
                columns[path] = [None] * len(records)
            columns[path][number] = value
    return chunk_of(columns, len(records))


def _is_nested(column: Sequence[Any]) -> bool:
    return not {dict, list}.isdisjoint(map(type, column))


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    pairs: Iterator[tuple[Any, Any]]
    if depth < DEEPEST and isinstance(value, dict):
        pairs = iter(value.items())
    elif depth < DEEPEST and isinstance(value, list) and len(value) <= MOST_COLUMNS:
        pairs = iter(enumerate(value))
    else:
        yield path or "value", str(value) if isinstance(value, dict | list) else value
        return
    for key, each in pairs:
        yield from _leaves(each, f"{path}.{key}" if path else str(key), depth + 1)


def document_of(stream: IO[str]) -> Any:
    """Read a whole JSON document; raise GivenUp where it is too large or none."""
    text = stream.read(LARGEST_DOCUMENT + 1)
    if len(text) > LARGEST_DOCUMENT:
        raise GivenUp(
            f"it is one JSON document of more than {LARGEST_DOCUMENT / 1e6:,.0f} MB; JSON lines can be read"
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GivenUp(f"it is not JSON ({error})") from error


def is_json_lines(beginning: str) -> bool:
    """Return whether the first line is a JSON value by itself and more follows."""
    line, _, rest = beginning.lstrip().partition("\n")
    if not rest.strip():
        return False
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False

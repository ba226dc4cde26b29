"""Table readers of the leak check: delimited text, JSON, Parquet."""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from grader.disclosure.source import Budget, GivenUp
from grader.disclosure.tables import (
    CHUNK_CHARACTERS,
    CHUNK_ROWS,
    MOST_COLUMNS,
    Chunk,
    Rows,
    Table,
    chunk_of,
    text_of,
)

SAMPLE_CHARACTERS = 1 << 16
LONGEST_FIELD = 1 << 24
DELIMITERS = ",\t;|"
LONGEST_LINE = 1 << 24
LARGEST_DOCUMENT = 64_000_000
DEEPEST = 4
BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY = 6, 7  # type codes of the Parquet format
LARGEST_COLUMN_BYTES = 200_000_000
TEXT_BYTES = 64  # memory overhead of each string
KEPT_KINDS = "biuf"


def delimited(stream: IO[str]) -> Iterator[Chunk]:
    """Yield the rows of a CSV file or other delimited text; the first row names the columns."""
    sample = stream.read(SAMPLE_CHARACTERS)
    names: list[str] = []
    for rows in _rows(_Lines(sample, stream), _delimiter(sample)):
        width = max(map(len, rows))
        if width > MOST_COLUMNS:
            raise GivenUp(f"it has more than {MOST_COLUMNS:,} columns")
        if width > len(names):
            # The first row is also kept as a row, because it contains values if the file has no header.
            widest = next(row for row in rows if len(row) == width)
            first = rows[0] if len(rows[0]) == width else widest
            names += _unique(names, [text_of(cell) for cell in first[len(names) :]])
        for row in rows:
            if len(row) < len(names):
                row += [""] * (len(names) - len(row))
        yield _chunk(list(names), rows)


def _chunk(names: Sequence[str], rows: list[list[str]]) -> Chunk:
    places = {name: place for place, name in enumerate(names)}

    def cells(name: str, numbers: Rows) -> list[str]:
        place = places[name]
        return [rows[number][place] for number in numbers.tolist()]

    return Chunk(names, len(rows), cells)


def _rows(lines: "_Lines", delimiter: str) -> Iterator[list[list[str]]]:
    """Yield blocks of rows without blank lines."""
    while some := lines.some():
        if any('"' in line for line in some):
            rows = _quoted(some, lines, delimiter)
        else:  # this branch is several times faster and gives the same result
            rows = [line.split(delimiter) for each in some if (line := each.rstrip("\r\n"))]
        if rows:
            yield rows


def _quoted(some: list[str], lines: "_Lines", delimiter: str) -> list[list[str]]:
    """Parse some lines, and any further lines that belong to their last row."""
    before = lines.count - len(some)
    reader = csv.reader(chain(some, lines), delimiter=delimiter)
    rows = []
    try:
        with _long_fields():
            for row in reader:
                if row:
                    rows.append(row)
                if reader.line_num >= len(some):
                    break
    except csv.Error as error:
        raise GivenUp(f"line {before + reader.line_num:,} cannot be read ({error})") from error
    return rows


@contextmanager
def _long_fields() -> Iterator[None]:
    """Allow long fields temporarily; the limit is global, and the solution readers set their own."""
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


class _Lines:
    """The lines of a partly read text, read in large blocks or one at a time."""

    def __init__(self, beginning: str, rest: IO[str]) -> None:
        self._beginning = beginning
        self._stream = rest
        self._rest = ""
        self._lines: list[str] = []
        self._given = 0
        self.count = 0

    def some(self) -> list[str]:
        """Return the next lines, or an empty list at the end."""
        if self._given == len(self._lines):
            self._fill()
        some = self._lines[self._given : self._given + CHUNK_ROWS]
        self._given += len(some)
        self.count += len(some)
        return some

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        if self._given == len(self._lines):
            self._fill()
        if not self._lines:
            raise StopIteration
        self._given += 1
        self.count += 1
        return self._lines[self._given - 1]

    def _fill(self) -> None:
        self._lines, self._given = [], 0
        while not self._lines:
            block = self._beginning + self._stream.read(CHUNK_CHARACTERS)
            self._beginning = ""
            lines = list(io.StringIO(self._rest + block, newline=""))
            is_cut = bool(block) and not lines[-1].endswith("\n") and len(lines[-1]) <= LONGEST_FIELD
            self._rest = lines.pop() if is_cut else ""
            self._lines = lines
            if not block:
                return


def _delimiter(sample: str) -> str:
    """Return the delimiter that splits the first lines most consistently."""
    lines = [line for line in sample.splitlines()[:50] if line.strip()]
    lines = lines[:-1] if len(lines) > 2 else lines

    def evenness(delimiter: str) -> tuple[float, int]:
        counts = [line.count(delimiter) for line in lines]
        most = max(set(counts), key=counts.count) if counts else 0
        return (counts.count(most) / len(counts) if most else 0.0), most

    return max(DELIMITERS, key=evenness)


def _unique(known: Sequence[str], added: Sequence[str]) -> list[str]:
    """Return short unique names for additional columns, based on the cells of the first row."""
    taken, found = set(known), []
    for place, name in enumerate(added, len(known) + 1):
        short = re.sub(r"\s+", " ", name)[:60]
        unique = short if short and short not in taken else f"column {place}"
        while unique in taken:
            unique += "'"
        taken.add(unique)
        found.append(unique)
    return found


def json_lines(stream: IO[str]) -> Iterator[Chunk]:
    """Yield the rows of a file with one JSON object or list per line."""
    number = 0
    while some := _some(stream):
        records = []
        for line in some:
            number += 1
            if line.strip():
                try:
                    records.append(json.loads(line))
                except (ValueError, RecursionError) as error:
                    raise GivenUp(f"line {number:,} is not valid JSON ({error})") from error
        yield of_records(records)


def _some(stream: IO[str]) -> list[str]:
    """Return the next lines, up to a maximum number and total length."""
    lines: list[str] = []
    size = 0
    while len(lines) < CHUNK_ROWS and size < CHUNK_CHARACTERS and (line := stream.readline(LONGEST_LINE)):
        lines.append(line)
        size += len(line)
    return lines


def json_tables(name: str, data: Any, depth: int = 0) -> Iterator[Table]:
    """Yield the possible tables in a JSON document: records, columns, or an object keyed by id."""
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
    """Return records as a chunk; columns of nested values are named by their paths."""
    columns: dict[str, list[Any]] = {}
    first = records[0] if records else None
    if isinstance(first, dict) and all(
        isinstance(each, dict) and each.keys() == first.keys() for each in records
    ):
        flat = {key: [record[key] for record in records] for key in first}  # the most common case
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
    """Read a complete JSON document; raise GivenUp if it is too large or invalid."""
    text = stream.read(LARGEST_DOCUMENT + 1)
    if len(text) > LARGEST_DOCUMENT:
        raise GivenUp(
            f"it is a JSON document of more than {LARGEST_DOCUMENT / 1e6:,.0f} MB; convert it to JSON Lines"
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GivenUp(f"it is not valid JSON ({error})") from error


def is_json_lines(beginning: str) -> bool:
    """Return whether the first line is a complete JSON object or list and more lines follow."""
    line, _, rest = beginning.lstrip().partition("\n")
    if not rest.strip():
        return False
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


def parquet(path: str, budget: Budget) -> Iterator[Chunk]:
    """Yield the row groups of a Parquet file; columns are decoded on demand.

    Columns that are too large for memory are omitted. After all other columns have been read, GivenUp names
    them.
    """
    import fastparquet  # imported here because scoring does not need fastparquet

    left_out: dict[str, int] = {}
    with _Files(path) as files:
        file = fastparquet.ParquetFile(path, open_with=files.open)
        names = [str(name) for name in file.columns]
        if len(names) > MOST_COLUMNS:
            raise GivenUp(f"it has more than {MOST_COLUMNS:,} columns")
        for number, group in enumerate(file.row_groups):
            budget.spend(sum(column.meta_data.total_uncompressed_size for column in group.columns))
            too_large = _too_large(group)
            left_out |= too_large
            good = [name for name in names if name.partition(".")[0] not in too_large]
            yield Chunk(good, int(group.num_rows), _Columns(file[number : number + 1], files))
    if left_out:
        named = ", ".join(f"{name} ({size / 1e6:,.0f} MB)" for name, size in list(left_out.items())[:3])
        more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        raise GivenUp(f"a row group is too large in column {named}{more}; write smaller row groups")


def _too_large(group: Any) -> dict[str, int]:
    """Return the memory requirements of those columns of a row group that exceed the limit."""
    sizes: dict[str, int] = {}
    for column in group.columns:
        meta = column.meta_data
        name = meta.path_in_schema[0].partition(".")[0]
        is_text = meta.type in (BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY)
        size = meta.total_uncompressed_size + meta.num_values * (TEXT_BYTES if is_text else 8)
        sizes[name] = sizes.get(name, 0) + size
    return {name: size for name, size in sizes.items() if size > LARGEST_COLUMN_BYTES}


class _Files:
    """The files that the Parquet reader opens; it may open only one file and does not close it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: list[IO[bytes]] = []

    def __enter__(self) -> "_Files":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, path: str, *_: object, **__: object) -> IO[bytes]:
        """Open the checked file; raise ValueError for any other path."""
        if path != self._path:
            raise ValueError("it refers to another file")
        self._opened.append(Path(path).open("rb"))  # noqa: SIM115
        return self._opened[-1]

    def close(self) -> None:
        """Close all opened files."""
        while self._opened:
            self._opened.pop().close()


class _Columns:
    """Access to the columns of a row group; the most recently decoded column is cached."""

    def __init__(self, group: Any, files: _Files) -> None:
        self._group = group
        self._files = files
        self._name: str | None = None
        self._values: NDArray[Any] = np.empty(0)

    def __call__(self, name: str, rows: Rows) -> Sequence[Any]:
        if name != self._name:
            self._name, self._values = None, np.empty(0)  # two decoded columns could exceed the memory limit
            frame = self._group.to_pandas(columns=[name], index=False)
            self._files.close()
            self._name, self._values = name, frame[name].to_numpy()
        some = self._values[rows]
        return some.tolist() if some.dtype.kind in KEPT_KINDS else list(some)

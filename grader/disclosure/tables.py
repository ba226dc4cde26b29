"""Tables as chunks of columns: delimited text, JSON lines, JSON documents, Parquet."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, Any

from grader.disclosure.budget import GivenUp

CHUNK_ROWS = 10_000
CHUNK_CHARACTERS = 1 << 24
SAMPLE_CHARACTERS = 1 << 16
LONGEST_FIELD = 1 << 24
LARGEST_DOCUMENT = 64_000_000
LARGEST_COLUMN_BYTES = 128_000_000
MOST_COLUMNS = 5_000
DEEPEST = 4
DELIMITERS = ",\t;|"

Column = Sequence[Any]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a table: the names of its columns and a way to each, as values in the rows' order."""

    names: Sequence[str]
    row_count: int
    column: Callable[[str], Column]


@dataclass(frozen=True, eq=False)
class Table:
    """One table of a file, to be read once from the beginning; `name` says where in the file it lies."""

    name: str
    chunks: Iterator[Chunk]


def text_of(value: Any) -> str:
    """Return a cell as text, trimmed."""
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    text = str(value)
    return "" if text in ("nan", "NaT", "<NA>") else text.strip()


def texts_of(values: Iterable[Any]) -> list[str]:
    """Return cells as texts; each distinct one is made once, for columns repeat few values in many rows."""
    values = list(values)
    try:
        known = {value: text_of(value) for value in set(values)}
    except TypeError:  # lists and the like, which Parquet may hold
        return list(map(text_of, values))
    return [known[value] for value in values]


def delimited(stream: IO[str]) -> Iterator[Chunk]:
    """Yield the rows of a CSV, or of text with another delimiter; the first row names the columns."""
    csv.field_size_limit(LONGEST_FIELD)
    sample = stream.read(SAMPLE_CHARACTERS)
    lines = _Joined(sample, stream)
    reader = csv.reader(lines, delimiter=_delimiter(sample))
    names: list[str] = []
    try:
        while rows := _some(reader, lines):
            columns = list(zip_longest(*rows, fillvalue=""))
            if len(columns) > MOST_COLUMNS:
                raise GivenUp(f"it has more than {MOST_COLUMNS:,} columns")
            # The first row stays a row too: a file without a header has its first values there.
            names += _unique(names, [text_of(column[0]) for column in columns[len(names) :]])
            yield _chunk(dict(zip(names, columns, strict=False)), len(rows))
    except csv.Error as error:
        raise GivenUp(f"line {reader.line_num:,} cannot be read ({error})") from error


class _Joined:
    """The lines of a text whose beginning was read already; it counts the characters that it gave."""

    def __init__(self, beginning: str, rest: IO[str]) -> None:
        self._lines = self._all(beginning, rest)
        self.characters = 0

    def __iter__(self) -> "_Joined":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.characters += len(line)
        return line

    @staticmethod
    def _all(beginning: str, rest: IO[str]) -> Iterator[str]:
        for line in io.StringIO(beginning, newline=""):
            yield line if line.endswith("\n") else line + rest.readline(LONGEST_FIELD)
        while line := rest.readline(LONGEST_FIELD):
            yield line


def _some(reader: Iterator[list[str]], lines: _Joined) -> list[list[str]]:
    """Return the next rows: so many, or so long."""
    rows: list[list[str]] = []
    begin = lines.characters
    for row in reader:
        if row:
            rows.append(row)
        if len(rows) == CHUNK_ROWS or lines.characters - begin > CHUNK_CHARACTERS:
            break
    return rows


def _delimiter(sample: str) -> str:
    """Return the delimiter that divides the first lines the most evenly."""
    lines = [line for line in sample.splitlines()[:50] if line.strip()]
    lines = lines[:-1] if len(lines) > 2 else lines

    def evenness(delimiter: str) -> tuple[float, int]:
        counts = [line.count(delimiter) for line in lines]
        most = max(set(counts), key=counts.count) if counts else 0
        return (counts.count(most) / len(counts) if most else 0.0), most

    return max(DELIMITERS, key=evenness)


def json_lines(stream: IO[str]) -> Iterator[Chunk]:
    """Yield the rows of a file with one JSON object (or list) a line."""
    number = 0
    lines = iter(lambda: stream.readline(LONGEST_FIELD), "")
    while some := list(islice(lines, CHUNK_ROWS)):
        records = []
        for line in some:
            number += 1
            if line.strip():
                try:
                    records.append(json.loads(line))
                except (ValueError, RecursionError) as error:
                    raise GivenUp(f"line {number:,} is no JSON ({error})") from error
        yield of_records(records)


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
            yield Table(name, iter([_chunk(_texts_by_name(data), lengths.pop())]))
            return
        if all(isinstance(each, dict) for each in values):
            keys = list(dict.fromkeys(key for each in values for key in each))
            columns = {"key": keys} | {
                outer: [each.get(key) for key in keys] for outer, each in islice(data.items(), MOST_COLUMNS)
            }
            yield Table(name, iter([_chunk(columns, len(keys))]))
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
            return _chunk({str(key): column for key, column in flat.items()}, len(records))
    for number, record in enumerate(records):
        for path, value in _leaves(record, "", 0):
            if path not in columns:
                if len(columns) == MOST_COLUMNS:
                    raise GivenUp(f"it has more than {MOST_COLUMNS:,} keys")
                columns[path] = [None] * len(records)
            columns[path][number] = value
    return _chunk(columns, len(records))


def _is_nested(column: Sequence[Any]) -> bool:
    return any(isinstance(value, dict | list) for value in column)


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


def parquet(path: str) -> Iterator[Chunk]:
    """Yield the row groups of a Parquet file; a column is decoded when it is asked for."""
    import fastparquet  # here, because a library that scores files does without it

    with _Files() as files:
        file = fastparquet.ParquetFile(path, open_with=files.open)
        names = [str(name) for name in file.columns]
        if len(names) > MOST_COLUMNS:
            raise GivenUp(f"it has more than {MOST_COLUMNS:,} columns")
        for number, group in enumerate(file.row_groups):
            largest = max(column.meta_data.total_uncompressed_size for column in group.columns)
            if largest > LARGEST_COLUMN_BYTES:
                raise GivenUp(
                    f"row group {number + 1} has a column of {largest / 1e6:,.0f} MB: too large to be read"
                )
            yield Chunk(names, int(group.num_rows), _ParquetColumns(file[number : number + 1], files))


class _Files:
    """The files that the reader of Parquet opens, and leaves open."""

    def __init__(self) -> None:
        self._opened: list[IO[bytes]] = []

    def __enter__(self) -> "_Files":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, path: str, _: str = "rb") -> IO[bytes]:
        """Open a file for reading."""
        self._opened.append(Path(path).open("rb"))  # noqa: SIM115
        return self._opened[-1]

    def close(self) -> None:
        """Close all files that were opened."""
        while self._opened:
            self._opened.pop().close()


class _ParquetColumns:
    """The columns of a row group, of which the last is kept."""

    def __init__(self, group: Any, files: _Files) -> None:
        self._group = group
        self._files = files
        self._name: str | None = None
        self._values: Column = ()

    def __call__(self, name: str) -> Column:
        if name != self._name:
            frame = self._group.to_pandas(columns=[name], index=False)
            self._files.close()
            self._name, self._values = name, frame[name].to_numpy(dtype=object)
        return self._values


def names_as_table(names: Sequence[str]) -> Table:
    """Return the names of an archive's files as a table: folders named by label are a column too."""
    return Table("the names of its files", iter([_chunk({"file name": names}, len(names))]))


def _chunk(columns: Mapping[str, Column], row_count: int) -> Chunk:
    return Chunk(list(columns), row_count, columns.__getitem__)


def _texts_by_name(data: Mapping[Any, Column]) -> dict[str, Column]:
    return {str(name): column for name, column in data.items()}


def _unique(known: Sequence[str], added: Sequence[str]) -> list[str]:
    """Return names for more columns: those of the first row, shortened, each once."""
    taken, found = set(known), []
    for place, name in enumerate(added, len(known) + 1):
        short = re.sub(r"\s+", " ", name)[:60]
        unique = short if short and short not in taken else f"column {place}"
        while unique in taken:
            unique += "'"
        taken.add(unique)
        found.append(unique)
    return found


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
        raise GivenUp(f"it is no JSON ({error})") from error


def is_json_lines(beginning: str) -> bool:
    """Tell whether the first line is a JSON value by itself and more follows."""
    line, _, rest = beginning.lstrip().partition("\n")
    if not rest.strip():
        return False
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


def as_text(stream: io.BufferedReader, encoding: str) -> IO[str]:
    """Return a stream of bytes as text; bytes that are none are replaced, for ids and labels are plain."""
    return io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="")

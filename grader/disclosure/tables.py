"""Tables of the leak check: rows of texts, from delimited text or JSON Lines."""

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import IO, Any

from grader.disclosure.source import GivenUp

MOST_COLUMNS = 5_000
SAMPLE_LINES = 50
LONGEST_LINE = 1 << 24
NAME_LENGTH = 60
DELIMITERS = ",\t;|"


@dataclass(eq=False)
class FileTable:
    """A table of a file, which can be read only once.

    Attributes
    ----------
    name : str
        The path of the table in the file.
    rows : iterator of list of str
        A row may be shorter than `names`.
    names : list of str
        The columns of the rows that have been read.
    """

    name: str
    rows: Iterator[list[str]]
    names: list[str] = field(default_factory=list)


def delimited(name: str, text: IO[str]) -> FileTable:
    """Return a CSV file or other delimited text; the first row names the columns.

    The first row is also kept as a row, because it contains values if the file has no header.
    """
    names: list[str] = []

    def rows() -> Iterator[list[str]]:
        lines = _lines(text)
        first = list(islice(lines, SAMPLE_LINES))
        reader = csv.reader(chain(first, lines), delimiter=_delimiter(first))
        try:
            for row in filter(None, reader):
                if len(row) > len(names):
                    _extend(names, row)
                yield row
        except csv.Error as error:
            raise GivenUp(f"line {reader.line_num:,} cannot be read ({error})") from error

    return FileTable(name, rows(), names)


def json_lines(name: str, text: IO[str]) -> FileTable:
    """Return a file with one JSON value per line; nested values are named by their paths."""
    names: list[str] = []

    def rows() -> Iterator[list[str]]:
        places: dict[str, int] = {}
        for number, line in enumerate(_lines(text), 1):
            if not line.strip():
                continue
            try:
                values = dict(_leaves(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise GivenUp(f"line {number:,} is not valid JSON ({error})") from error
            for path in values:
                places.setdefault(path, len(places))
            _extend(names, list(places))
            row = [""] * len(places)
            for path, value in values.items():
                row[places[path]] = "" if value is None else str(value)
            yield row

    return FileTable(name, rows(), names)


def _lines(text: IO[str]) -> Iterator[str]:
    while line := text.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise GivenUp(f"a line has more than {LONGEST_LINE:,} characters")
        yield line


def _extend(names: list[str], cells: Sequence[str]) -> None:
    """Name additional columns after cells; raise GivenUp if there are too many columns."""
    if len(cells) > MOST_COLUMNS:
        raise GivenUp(f"it has more than {MOST_COLUMNS:,} columns")
    for place in range(len(names), len(cells)):
        name = " ".join(cells[place].split())[:NAME_LENGTH]
        names.append(name if name and name not in names else f"column {place + 1}")


def _delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that splits the first lines most consistently."""
    filled = [line.strip("\r\n") for line in lines if line.strip()]

    def evenness(delimiter: str) -> tuple[float, int]:
        counts = [line.count(delimiter) for line in filled]
        most = max(set(counts), key=counts.count) if counts else 0
        return (counts.count(most) / len(counts) if most else 0.0), most

    best = max(DELIMITERS, key=evenness)
    return " " if evenness(best)[0] == 0 and evenness(" ")[0] == 1 else best


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict | list):
        yield path or "value", value
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(inner, f"{path}.{key}" if path else str(key))

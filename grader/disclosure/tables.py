"""Table type of the leak check: chunks of rows, independent of the file format."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

CHUNK_ROWS = 10_000
CHUNK_CHARACTERS = 1 << 22
MOST_COLUMNS = 5_000

MEMBER_COLUMNS = ("file name", "size of the file", "time of the file", "position of the file")

Column = Sequence[Any] | NDArray[Any]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of a table: the column names, and a function that returns cells by column and rows."""

    names: Sequence[str]
    row_count: int
    cells: Callable[[str, Rows], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Table:
    """One table of a file, which can be read only once; `name` is its path in the file."""

    name: str
    chunks: Iterator[Chunk]


def chunk_of(columns: Mapping[str, Column], row_count: int) -> Chunk:
    """Return a chunk with the given columns."""

    def cells(name: str, rows: Rows) -> Sequence[Any]:
        column = columns[name]
        return [column[row] for row in rows.tolist()]

    return Chunk(list(columns), row_count, cells)


def text_of(value: Any) -> str:
    """Return a cell as trimmed text."""
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    text = str(value)
    return "" if text in ("nan", "NaT", "<NA>") else text.strip()


def texts_of(values: Iterable[Any]) -> list[str]:
    """Return cells as trimmed texts."""
    return [value.strip() if type(value) is str else text_of(value) for value in values]


def members_as_table(members: Sequence[tuple[str, int, float, int]]) -> Table:
    """Return the names, sizes, times and positions of an archive's files, which may disclose labels."""
    columns = dict(zip(MEMBER_COLUMNS, zip(*members, strict=True), strict=True)) if members else {}
    return Table("the list of its files", iter([chunk_of(columns, len(members))]))


def as_text(stream: io.BufferedReader, encoding: str) -> IO[str]:
    """Decode a binary stream; invalid bytes are replaced, which cannot affect ids or labels."""
    return io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="")

"""Read delimited text as tables: CSV, and text with tabs, semicolons or bars."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import IO

from grader.disclosure.budget import GivenUp
from grader.disclosure.tables import CHUNK_CHARACTERS, CHUNK_ROWS, MOST_COLUMNS, Chunk, Rows, text_of

SAMPLE_CHARACTERS = 1 << 16
LONGEST_FIELD = 1 << 24
DELIMITERS = ",\t;|"


def delimited(stream: IO[str]) -> Iterator[Chunk]:
    """Yield the rows of a CSV, or of text with another delimiter; the first row names the columns."""
    sample = stream.read(SAMPLE_CHARACTERS)
    names: list[str] = []
    for rows in _rows(_Lines(sample, stream), _delimiter(sample)):
        width = max(map(len, rows))
        if width > MOST_COLUMNS:
            raise GivenUp(f"it has more than {MOST_COLUMNS:,} columns")
        if width > len(names):
            # The first row stays a row too: a file without a header has its first values there.
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
    """Yield some rows at a time; blank lines are none."""
    while some := lines.some():
        if any('"' in line for line in some):
            rows = _quoted(some, lines, delimiter)
        else:  # several times as fast, and the same
            rows = [line.split(delimiter) for each in some if (line := each.rstrip("\r\n"))]
        if rows:
            yield rows


def _quoted(some: list[str], lines: "_Lines", delimiter: str) -> list[list[str]]:
    """Return the rows of some lines, with the following lines that belong to the last row."""
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
    """Allow long fields; the limit is the whole process's, and the readers of solutions count on theirs."""
    before = csv.field_size_limit(LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


class _Lines:
    """The lines of a text whose beginning was read already, in large blocks or one by one."""

    def __init__(self, beginning: str, rest: IO[str]) -> None:
        self._beginning = beginning
        self._stream = rest
        self._rest = ""
        self._lines: list[str] = []
        self._given = 0
        self.count = 0

    def some(self) -> list[str]:
        """Return the next lines, none at the end."""
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
    """Return the delimiter that divides the first lines the most evenly."""
    lines = [line for line in sample.splitlines()[:50] if line.strip()]
    lines = lines[:-1] if len(lines) > 2 else lines

    def evenness(delimiter: str) -> tuple[float, int]:
        counts = [line.count(delimiter) for line in lines]
        most = max(set(counts), key=counts.count) if counts else 0
        return (counts.count(most) / len(counts) if most else 0.0), most

    return max(DELIMITERS, key=evenness)


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

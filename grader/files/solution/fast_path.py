"""Fast reader for clean solution files; doubtful files are left to the slow reader.

`read_plain` returns None for any doubtful file, and for every file if pandas is not installed.
`grader.files.solution.explaining_path` then reads the file.
"""

import csv
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import BLANKS, number_of
from grader.files.reading.pandas_reader import pandas_reader
from grader.files.reading.problems import Problem
from grader.files.reading.row_ids import RowIds
from grader.files.solution.column_roles import Tally

if TYPE_CHECKING:
    import pandas as pd

BLANK = -1
_BLOCK = 1 << 22
_QUOTE, _COMMA, _LF = ord('"'), ord(","), ord("\n")
_ROWS_PER_CHUNK = 1 << 16
Progress = Callable[[int, int], None]
"""A callback that receives the number of rows read and the total number, which is 0 if unknown."""
USAGE_CODES = {"ignored": 0, "public": 1, "private": 2}
SPLITS = {"public": (1,), "private": (2,), "all": (1, 2)}


@dataclass(frozen=True, slots=True)
class Categories:
    """The texts of a column.

    Attributes
    ----------
    values : tuple of str
        Each text once, in the order of first appearance.
    codes : array of int32, shape (n,)
        For each row, the index of its text in `values`, or -1 for a blank.
    """

    values: tuple[str, ...]
    codes: NDArray[np.int32]

    def texts(self) -> list[str]:
        """Return the text of each row; a blank is an empty text."""
        # The code of a blank, -1, is the index of the last item.
        named = [*self.values, ""]
        return [named[code] for code in self.codes.tolist()]


class CategoryWriter:
    """Collects the texts of a column, one row or many rows at a time."""

    def __init__(self) -> None:
        self._codes = array("i")
        self._places: dict[str, int] = {"": BLANK}

    def add(self, text: str) -> None:
        """Add the trimmed text of the next row; an empty text is a blank."""
        self._codes.append(self._place(text))

    def add_coded(self, codes: NDArray[np.integer], texts: Sequence[str]) -> None:
        """Add the next rows, given as indices into `texts`."""
        places = np.array([self._place(text) for text in texts], np.int32)
        self._codes.frombytes(places[codes].tobytes())

    def categories(self) -> Categories:
        """Return the categories of the added rows."""
        values: Iterable[str] = list(self._places)[1:]
        return Categories(tuple(values), np.frombuffer(self._codes, np.int32))

    def _place(self, text: str) -> int:
        return self._places.setdefault(text, len(self._places) - 1)


def count_equal_records(stream: BinaryIO, width: int) -> int | None:
    """Count the records including the header; None if any of them may not have `width` fields.

    Quotes are matched by parity, which is exact if each opening quote directly follows a comma, a line ending
    or another quote. Other quotes, NUL bytes and lone carriage returns are doubtful.
    """
    proof = _Proof(width)
    while block := stream.read(_BLOCK):
        if block.endswith(b"\r"):
            block += stream.read(1)
        if not proof.take(block):
            return None
    return proof.records()


class _Proof:
    def __init__(self, width: int) -> None:
        self._commas_expected = width - 1
        self._commas = 0  # number of commas in the unfinished record
        self._finished = 0
        self._is_quoted = False
        self._last = _LF

    def take(self, block: bytes) -> bool:
        """Process the next block; return False if it is doubtful."""
        if b"\0" in block or (b"\r" in block and b"\r" in block.replace(b"\r\n", b"")):
            return False
        data = np.frombuffer(block, np.uint8)
        marks = (data == _COMMA) | (data == _LF)
        if self._is_quoted or b'"' in block:
            quotes = data == _QUOTE
            inside = np.bitwise_xor.accumulate(quotes) ^ self._is_quoted
            before = np.concatenate(([self._last], data[:-1]))[quotes & inside]
            if not np.isin(before, (_QUOTE, _COMMA, _LF)).all():
                return False
            marks &= ~inside
            self._is_quoted = bool(inside[-1])
        self._last = int(data[-1])
        return self._count(data[np.flatnonzero(marks)] == _LF)

    def _count(self, is_end: NDArray[np.bool_]) -> bool:
        ends = np.flatnonzero(is_end)
        if not len(ends):
            self._commas += len(is_end)
            return self._commas <= self._commas_expected
        first = self._commas + int(ends[0])
        self._commas = len(is_end) - int(ends[-1]) - 1
        self._finished += len(ends)
        between = np.diff(ends) - 1
        return first == self._commas_expected and bool((between == self._commas_expected).all())

    def records(self) -> int | None:
        """Return the number of records after the last block, or None if it is uncertain."""
        if self._is_quoted:
            return None
        if self._last == _LF:
            return self._finished
        return self._finished + 1 if self._commas == self._commas_expected else None


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """The numbers that a column may contain.

    Attributes
    ----------
    part : str
        The name of the column's values in messages, such as ``"label"``.
    low, high : float
        Inclusive bounds.
    may_be_blank : bool
        Whether a blank is allowed; it is read as NaN.
    is_optional : bool
        Whether a value that is not allowed excludes the column rather than being a problem of the file.
    is_known : bool
        Whether the name is that of an identity, so that the exclusion is always reported.
    """

    part: str
    low: float = 0.0
    high: float = 1.0
    may_be_blank: bool = False
    is_optional: bool = False
    is_known: bool = False

    def allows(self, value: float) -> bool:
        """Return whether the column allows a number (NaN for a blank)."""
        return self.may_be_blank if math.isnan(value) else self.low <= value <= self.high

    def allows_all(self, values: NDArray[np.float64]) -> bool:
        """Return whether the column allows all numbers."""
        inside = (values >= self.low) & (values <= self.high)
        return bool((inside | np.isnan(values) if self.may_be_blank else inside).all())


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns to read, by number; all others are skipped.

    Attributes
    ----------
    width : int
        Number of columns of the table.
    id, usage : int or None
        Read as text.
    numbers : dict
    texts : tuple of int
        Kept as categories; values of a column that is also in `numbers` are tallied there.
    """

    width: int
    id: int | None
    usage: int | None
    numbers: dict[int, NumberColumn]
    texts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Misfits:
    """The values that exclude an optional column: the number of fitting values, and the problems."""

    fitting: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that were read.

    Attributes
    ----------
    row_ids : RowIds or None
    usage : array of int8, shape (n,), or None
    numbers : dict of int to array of float64, shape (n,)
        Optional columns with a value that is not allowed are absent.
    texts : dict of int to Categories
    near_misses : dict of int to Misfits
        Absent optional columns in which nearly all values are allowed.
    """

    row_ids: RowIds | None
    usage: NDArray[np.int8] | None
    numbers: dict[int, NDArray[np.float64]]
    texts: dict[int, Categories] = field(default_factory=dict)
    near_misses: dict[int, Misfits] = field(default_factory=dict)


def unobserved(done: int, total: int) -> None:
    """Ignore the progress."""


def text_stream(stream: BinaryIO, errors: str = "strict") -> TextIOWrapper:
    """Return a decoded CSV stream that leaves line endings to the parser."""
    return TextIOWrapper(stream, encoding="utf-8-sig", errors=errors, newline="")


def read_plain(
    open_stream: Callable[[], BinaryIO], wanted: Wanted, progress: Progress = unobserved
) -> Columns | None:
    """Read the columns; return None if anything is doubtful.

    If a result is returned, every record has the same number of fields, the ids are valid, all values are
    allowed, and no optional column is excluded because of only a few values.
    """
    with open_stream() as stream:
        records = count_equal_records(stream, wanted.width)
    if records is None:
        return None
    with text_stream(open_stream()) as stream:
        try:
            next(csv.reader(stream))
            return _Chunks(wanted, records - 1, progress).read(stream)
        except ValueError:
            return None


class _Chunks:
    """Fills the columns in chunks, so that the text of a table of gigabytes is never in memory as a whole."""

    def __init__(self, wanted: Wanted, rows: int, progress: Progress) -> None:
        self._wanted = wanted
        self._rows = rows
        self._progress = progress
        self._filled = 0
        self._ids = bytearray()
        self._usage = np.empty(rows, np.int8)
        self._numbers = {column: np.empty(rows) for column in wanted.numbers}
        self._texts = {column: CategoryWriter() for column in wanted.texts}
        self._tallies = {n: Tally(spec.is_known) for n, spec in wanted.numbers.items() if spec.is_optional}

    def read(self, stream: TextIOWrapper) -> Columns | None:
        read_csv = pandas_reader()
        if read_csv is None:
            return None
        wanted = self._wanted
        text_columns = [str(n) for n in (wanted.id, wanted.usage, *wanted.texts) if n is not None]
        numbers = [str(n) for n in wanted.numbers if n not in wanted.texts]
        chunks = read_csv(
            stream,
            header=None,
            names=[str(column) for column in range(wanted.width)],
            usecols=[*text_columns, *numbers],
            dtype=dict.fromkeys(text_columns, str),
            index_col=False,
            keep_default_na=False,
            na_values={column: [""] for column in numbers},
            chunksize=_ROWS_PER_CHUNK,
            low_memory=False,
        )
        with chunks:
            is_plain = all(map(self._take, chunks)) and self._filled == self._rows
        return self._columns() if is_plain else None

    def _columns(self) -> Columns | None:
        row_ids = None if self._wanted.id is None else RowIds(bytes(self._ids))
        if row_ids is not None and (len(row_ids) != self._rows or not row_ids.are_proper):
            return None
        if any(tally.is_near for tally in self._tallies.values()):
            return None
        usage = None if self._wanted.usage is None else self._usage
        texts = {column: writer.categories() for column, writer in self._texts.items()}
        return Columns(row_ids, usage, self._numbers, texts)

    def _take(self, chunk: "pd.DataFrame") -> bool:
        rows = slice(self._filled, self._filled + len(chunk))
        self._filled = rows.stop
        if self._filled > self._rows:
            return False
        if self._wanted.id is not None:
            ids = chunk[str(self._wanted.id)].tolist()
            self._ids += "".join([f"{text.strip(BLANKS)}\n" for text in ids]).encode()
        if self._wanted.usage is not None:
            codes, names = chunk[str(self._wanted.usage)].factorize()
            known = [USAGE_CODES.get(str(name).strip(BLANKS).casefold(), -1) for name in names]
            if -1 in known:
                return False
            self._usage[rows] = np.array(known, np.int8)[codes]
        for column, writer in self._texts.items():
            codes, values = chunk[str(column)].factorize()
            writer.add_coded(codes, [str(value).strip(BLANKS) for value in values])
        self._progress(self._filled, self._rows)
        return all(self._take_numbers(chunk[str(column)], rows, column) for column in self._wanted.numbers)

    def _take_numbers(self, values: "pd.Series[float]", rows: slice, column: int) -> bool:
        spec = self._wanted.numbers[column]
        numbers = _as_numbers(values)
        if column in self._tallies:
            _count(self._tallies[column], values, numbers)
        if numbers is None or not spec.allows_all(numbers):
            self._numbers.pop(column, None)
            return spec.is_optional
        if column in self._numbers:
            self._numbers[column][rows] = numbers
        return True


def _count(tally: Tally, values: "pd.Series[float]", numbers: NDArray[np.float64] | None) -> None:
    if numbers is not None:
        tally.add_numbers(numbers)
        return
    for text in _texts(values):
        tally.add(text, number_of(text))


def _as_numbers(column: "pd.Series[float]") -> NDArray[np.float64] | None:
    """Return the numbers of a column whose type pandas inferred; text is parsed with our own grammar."""
    if column.dtype.kind in "iuf":
        return np.array(column, np.float64)
    numbers = [number_of(text) for text in _texts(column)]
    return None if None in numbers else np.array(numbers, np.float64)


def _texts(column: "pd.Series[float]") -> Iterator[str]:
    return ("" if isinstance(text, float) else str(text) for text in column)

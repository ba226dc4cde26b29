"""Columns out of an organizer's CSV, at the speed of pandas where the file is plain.

`read_plain` gives up at the first doubt and `grader.files.records`, which explains, decides.
"""

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from io import TextIOWrapper
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader.files.categories import Categories, CategoryWriter
from grader.files.numbers import finite
from grader.files.rowids import RowIds
from grader.files.widths import count_equal_records

if TYPE_CHECKING:
    import pandas as pd

_ROWS_PER_CHUNK = 1 << 16
BLANKS = " \t"


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """Which numbers a column may hold.

    Attributes
    ----------
    part : str
        What the messages call its values: ``"label"``.
    low, high : float
        Bounds, both allowed.
    may_be_blank : bool
        Whether a blank is allowed; it is read as NaN.
    is_optional : bool
        Whether the column is left out, without a problem, where a value is not allowed.
    """

    part: str
    low: float = 0.0
    high: float = 1.0
    may_be_blank: bool = False
    is_optional: bool = False

    def allows(self, value: float) -> bool:
        """Tell whether a number, NaN for a blank, may stand in the column."""
        return self.may_be_blank if math.isnan(value) else self.low <= value <= self.high

    def allows_all(self, values: NDArray[np.float64]) -> bool:
        """Tell whether all numbers may stand in the column."""
        inside = (values >= self.low) & (values <= self.high)
        return bool((inside | np.isnan(values) if self.may_be_blank else inside).all())


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns to read, by number; all others are passed over.

    Attributes
    ----------
    width : int
        Number of columns of the table.
    id, usage : int or None
        Read as text.
    numbers : dict
    texts : tuple of int
        Kept as categories.
    """

    width: int
    id: int | None
    usage: int | None
    numbers: dict[int, NumberColumn]
    texts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """What was read.

    Attributes
    ----------
    row_ids : RowIds or None
    usage : array of int8, shape (n,), or None
    numbers : dict of int to array of float64, shape (n,)
        Columns that turned out not to be numbers are absent.
    texts : dict of int to Categories
    """

    row_ids: RowIds | None
    usage: NDArray[np.int8] | None
    numbers: dict[int, NDArray[np.float64]]
    texts: dict[int, Categories] = field(default_factory=dict)


Progress = Callable[[int, int], None]
"""Is told how many rows are read, of how many; 0 where that is not known."""


def unobserved(done: int, total: int) -> None:
    """Let nobody follow the reading."""


USAGE_CODES = {"ignored": 0, "public": 1, "private": 2}


def text_stream(stream: BinaryIO, errors: str = "strict") -> TextIOWrapper:
    """Decode a stream of CSV; line ends are left to the parser."""
    return TextIOWrapper(stream, encoding="utf-8-sig", errors=errors, newline="")


def number_of(text: str) -> float | None:
    """Return the number, NaN for a blank, None where the text is neither."""
    bare = text.strip(BLANKS)
    return finite(bare.encode("utf-8", "surrogateescape")) if bare else math.nan


def read_plain(
    open_stream: Callable[[], BinaryIO], wanted: Wanted, progress: Progress = unobserved
) -> Columns | None:
    """Read the columns; None where anything is doubtful.

    Proven are: every record has the same number of fields, the ids are proper, all values allowed.
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
    """Fills the columns chunk by chunk, so that a table of gigabytes is never held as text."""

    def __init__(self, wanted: Wanted, rows: int, progress: Progress) -> None:
        self._wanted = wanted
        self._rows = rows
        self._progress = progress
        self._filled = 0
        self._ids = bytearray()
        self._usage = np.empty(rows, np.int8)
        self._numbers = {column: np.empty(rows) for column in wanted.numbers}
        self._texts = {column: CategoryWriter() for column in wanted.texts}

    def read(self, stream: TextIOWrapper) -> Columns | None:
        import pandas as pd  # here, because the web imports this package and never gets here

        wanted = self._wanted
        text_columns = [str(n) for n in (wanted.id, wanted.usage, *wanted.texts) if n is not None]
        numbers = [str(n) for n in wanted.numbers]
        chunks = pd.read_csv(
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
        usage = None if self._wanted.usage is None else self._usage
        texts = {column: writer.categories() for column, writer in self._texts.items()}
        return Columns(row_ids, usage, self._numbers, texts)

    def _take(self, chunk: "pd.DataFrame") -> bool:
        rows = slice(self._filled, self._filled + len(chunk))
        self._filled = rows.stop
        if self._filled > self._rows:
            return False
        if self._wanted.id is not None:
            ids = chunk[str(self._wanted.id)]
            self._ids += "".join(f"{text.strip(BLANKS)}\n" for text in ids).encode()
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
        return all(self._take_numbers(chunk, rows, column) for column in list(self._numbers))

    def _take_numbers(self, chunk: "pd.DataFrame", rows: slice, column: int) -> bool:
        spec = self._wanted.numbers[column]
        values = _as_numbers(chunk[str(column)])
        if values is not None and spec.allows_all(values):
            self._numbers[column][rows] = values
            return True
        del self._numbers[column]
        return spec.is_optional


def _as_numbers(column: "pd.Series[float]") -> NDArray[np.float64] | None:
    """Return the numbers of a column as pandas inferred it; text is read by our own grammar."""
    if column.dtype.kind in "iuf":
        return np.array(column, np.float64)
    texts = ("" if isinstance(text, float) else str(text) for text in column)
    numbers = [number_of(text) for text in texts]
    return None if None in numbers else np.array(numbers, np.float64)

"""Columns out of an organizer's CSV, at the speed of pandas where the file is plain.

`read_plain` gives up at the first doubt and `grader.files.records`, which explains, decides.
"""

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from io import TextIOWrapper
from typing import BinaryIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from grader.files.numbers import finite

_BLOCK = 1 << 22
_ROWS_PER_CHUNK = 1 << 16
_QUOTE, _COMMA, _LF = ord('"'), ord(","), ord("\n")


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
    """

    width: int
    id: int | None
    usage: int | None
    numbers: dict[int, NumberColumn]


@dataclass(frozen=True, slots=True)
class Columns:
    """What was read.

    Attributes
    ----------
    ids : list of str or None
        Without surrounding spaces and tabs.
    usage : array of int8, shape (n,), or None
    numbers : dict of int to array of float64, shape (n,)
        Columns that turned out not to be numbers are absent.
    """

    ids: list[str] | None
    usage: NDArray[np.int8] | None
    numbers: dict[int, NDArray[np.float64]]


USAGE_CODES = {"ignored": 0, "public": 1, "private": 2}


def text_stream(stream: BinaryIO, errors: str = "strict") -> TextIOWrapper:
    """Decode a stream of CSV; line ends are left to the parser."""
    return TextIOWrapper(stream, encoding="utf-8-sig", errors=errors, newline="")


def number_of(text: str) -> float | None:
    """Return the number, NaN for a blank, None where the text is neither."""
    bare = text.strip(" \t")
    return finite(bare.encode("utf-8", "surrogateescape")) if bare else math.nan


def read_plain(open_stream: Callable[[], BinaryIO], wanted: Wanted) -> Columns | None:
    """Read the columns; None where anything is doubtful.

    Proven are: every record has the same number of fields, all values are allowed. Ids are checked
    by the caller.
    """
    with open_stream() as stream:
        if not has_equal_widths(stream, wanted.width):
            return None
    with text_stream(open_stream()) as stream:
        next(csv.reader(stream))
        try:
            return _Chunks(wanted).read(stream)
        except (ValueError, pd.errors.ParserError):
            return None


class _Chunks:
    """Collects the columns chunk by chunk, so that a table of gigabytes is never held as text."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._ids: list[str] = []
        self._usage: list[NDArray[np.int8]] = []
        self._numbers: dict[int, list[NDArray[np.float64]]] = {n: [] for n in wanted.numbers}

    def read(self, stream: TextIOWrapper) -> Columns | None:
        wanted = self._wanted
        text_columns = [str(n) for n in (wanted.id, wanted.usage) if n is not None]
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
            if not all(map(self._take, chunks)):
                return None
        return Columns(
            None if wanted.id is None else self._ids,
            None if wanted.usage is None else np.concatenate(self._usage),
            {column: np.concatenate(self._numbers.pop(column)) for column in list(self._numbers)},
        )

    def _take(self, chunk: pd.DataFrame) -> bool:
        if self._wanted.id is not None:
            self._ids += [text.strip(" \t") for text in chunk[str(self._wanted.id)]]
        if self._wanted.usage is not None:
            codes, names = pd.factorize(chunk[str(self._wanted.usage)])
            known = [USAGE_CODES.get(str(name).strip(" \t").casefold(), -1) for name in names]
            if -1 in known:
                return False
            self._usage.append(np.array(known, np.int8)[codes])
        return all(self._take_numbers(chunk, column) for column in list(self._numbers))

    def _take_numbers(self, chunk: pd.DataFrame, column: int) -> bool:
        spec = self._wanted.numbers[column]
        values = _as_numbers(chunk[str(column)])
        if values is not None and spec.allows_all(values):
            self._numbers[column].append(values)
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


def has_equal_widths(stream: BinaryIO, width: int) -> bool:
    """Prove that every record has `width` fields, without parsing; False where in doubt.

    Quotes are taken by parity, which is exact where each opens right after a comma, a line end or
    another quote; anything else is doubtful, and so are NUL bytes and lone carriage returns.
    """
    state = _WidthProof(width)
    while block := stream.read(_BLOCK):
        if block.endswith(b"\r"):
            block += stream.read(1)
        if not state.take(block):
            return False
    return state.ends_well()


class _WidthProof:
    def __init__(self, width: int) -> None:
        self._commas_expected = width - 1
        self._commas = 0  # of the record that is not finished yet
        self._is_quoted = False
        self._last = _LF

    def take(self, block: bytes) -> bool:
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
        return first == self._commas_expected and bool((np.diff(ends) - 1 == self._commas_expected).all())

    def ends_well(self) -> bool:
        if self._is_quoted:
            return False
        return self._last == _LF or self._commas == self._commas_expected

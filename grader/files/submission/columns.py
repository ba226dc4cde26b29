"""Columns of predictions: numbers in a range, classes, lists of classes, texts; reading and problems."""

import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import LONGEST_NUMBER, describe_number, fault_of_number, finite, underflows
from grader.files.reading.problems import Finding
from grader.files.reading.text import BLANKS
from grader.text import listed, quoted

ID, PREDICTION = "id", "prediction"
_CLASSES_SHOWN = 10
_NAMES_SHOWN = 8
NO_CLASS = -1
LONGEST_TEXT = 1000


@dataclass(frozen=True)
class PredictedColumn:
    """A column of predictions, with the values that it may contain.

    Attributes
    ----------
    name : str
    lowest, highest : float
        The range of the numbers.
    classes : tuple of str
        If there are any, each value is one of these classes instead of a number. It is read as the position
        of its class.
    places : int
        If it is not 0, each value is a list of classes, separated by spaces, of which this many are read.
    is_text : bool
        Whether each value is any text of at most 1,000 bytes.
    """

    name: str
    lowest: float = -sys.float_info.max
    highest: float = sys.float_info.max
    classes: tuple[str, ...] = ()
    places: int = 0
    is_text: bool = False

    @cached_property
    def codes(self) -> Mapping[bytes, int]:
        """The position of each class."""
        return {name.encode(): code for code, name in enumerate(self.classes)}

    def values(self, rows: int) -> "NumberValues | ClassValues | TextValues":
        """Return empty storage for the values of this column."""
        if self.is_text:
            return TextValues(rows)
        return ClassValues(self, rows) if self.classes else NumberValues(self, rows)

    def names_in(self, value: bytes) -> list[bytes]:
        """Return the classes in a field."""
        return value.split() if self.places else [value]

    @property
    def domain(self) -> str:
        """The values that are expected, in words."""
        if self.is_text:
            return f"a text of at most {LONGEST_TEXT:,} bytes"
        if self.classes:
            names = listed([quoted(name) for name in self.classes], most=_CLASSES_SHOWN)
            return f"classes out of {names}, separated by spaces" if self.places else f"one of {names}"
        lowest, highest = self.lowest > -sys.float_info.max, self.highest < sys.float_info.max
        if lowest and highest:
            return f"a number from {self.lowest:g} to {self.highest:g}"
        return f"a number of at least {self.lowest:g}" if lowest else f"a number of at most {self.highest:g}"

    @property
    def sample(self) -> str:
        """A value for a sample submission."""
        if self.is_text:
            return "text"
        if self.classes:
            return " ".join(self.classes[: self.places or 1])
        return repr(min(max(0.5, self.lowest), self.highest))


class NumberValues:
    """The numbers of a column, in the solution's order."""

    def __init__(self, column: PredictedColumn, rows: int) -> None:
        self._column = column
        self._stored = array("d", bytes(8 * rows))
        self.underflows: list[int] = []  # lines with a number that is read as 0 but is not 0

    def put(self, place: int | None, value: bytes, line: int) -> str | None:
        """Store a trimmed field at a place, if there is one; return its problem code, or None if accepted."""
        number = finite(value)
        if number is None:
            return fault_of_number(value)
        if not self._column.lowest <= number <= self._column.highest:
            return "out_of_range"
        if not number and underflows(value):
            self.underflows.append(line)
        if place is not None:
            self._stored[place] = number
        return None

    def describe(self, code: str, value: bytes) -> Finding:
        """Describe a field, given its problem code."""
        return _unexpected(value, self._column) if code == "out_of_range" else describe_number(code, value)

    @property
    def read(self) -> NDArray[np.float64]:
        """The numbers; float64 of shape (n,)."""
        return np.frombuffer(self._stored, np.float64)


class ClassValues:
    """The classes of a column as positions, in the solution's order; -1 in empty places of a list."""

    def __init__(self, column: PredictedColumn, rows: int) -> None:
        self._column = column
        self._stored = np.full((rows, max(column.places, 1)), NO_CLASS, np.int32)

    def put(self, place: int | None, value: bytes, _line: int) -> str | None:
        """Store a trimmed field, as described for numbers."""
        if not value or len(value) > LONGEST_NUMBER:
            return "field_too_long" if value else "empty_prediction"
        codes = [self._column.codes.get(name, NO_CLASS) for name in self._column.names_in(value)]
        if NO_CLASS in codes:
            return "unknown_class"
        if place is not None:
            codes = codes[: self._stored.shape[1]]
            self._stored[place, : len(codes)] = codes
        return None

    def describe(self, _code: str, value: bytes) -> Finding:
        """Describe a field, given its problem code."""
        names = self._column.names_in(value)
        unknown = next((name for name in names if name not in self._column.codes), value)
        return _unexpected(unknown, self._column)

    @property
    def read(self) -> NDArray[np.int32]:
        """The positions of the classes; int32 of shape (n,), or (n, places) for lists."""
        return self._stored if self._column.places else self._stored[:, 0]


class TextValues:
    """The texts of a column, in the solution's order; an empty field is an empty text."""

    def __init__(self, rows: int) -> None:
        self._stored = [""] * rows

    def put(self, place: int | None, value: bytes, _line: int) -> str | None:
        """Store a trimmed field, as described for numbers."""
        if len(value) > LONGEST_TEXT:
            return "field_too_long"
        if place is not None:
            self._stored[place] = value.decode()
        return None

    def describe(self, _code: str, value: bytes) -> Finding:
        """Describe a field, given its problem code."""
        expected = f"at most {LONGEST_TEXT:,} bytes"
        sentence = f"text too long: {quoted(value)} has {len(value):,} bytes; expected {expected}"
        return Finding(sentence, expected, f"{len(value):,} bytes")

    @property
    def read(self) -> NDArray[np.object_]:
        """The texts; of shape (n,)."""
        return np.array(self._stored, object)


def _unexpected(value: bytes, column: PredictedColumn) -> Finding:
    if not value:
        return Finding(f"empty prediction; expected {column.domain}", column.domain, "nothing")
    shown = quoted(value)
    same = [name for name in column.classes if name.casefold() == value.decode("utf-8", "replace").casefold()]
    case = " (case matters)" if same else ""
    subject = "is not a class" if column.classes else "is out of range"
    return Finding(f"{shown} {subject}; expected {column.domain}{case}", column.domain, shown)


@dataclass(frozen=True)
class SubmissionColumns:
    """The columns that a submission must have besides the id."""

    columns: tuple[PredictedColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all required columns, the id first."""
        return (ID, *(column.name for column in self.columns))

    @property
    def header(self) -> str:
        """The expected header; with many columns, only its beginning."""
        names = self.names
        if len(names) <= _NAMES_SHOWN:
            return ",".join(names)
        return f"{','.join(names[:_NAMES_SHOWN])},… ({len(names)} columns)"

    @property
    def is_single_number(self) -> bool:
        """Whether there is only one column, which contains numbers."""
        return len(self.columns) == 1 and not self.columns[0].classes and not self.columns[0].is_text

    @property
    def longest_texts(self) -> int:
        """The number of bytes of a row that texts may have."""
        return LONGEST_TEXT * sum(column.is_text for column in self.columns)

    @property
    def is_default(self) -> bool:
        """Whether these are the columns of a competition whose metric only compares predictions."""
        return self.columns == ONE_NUMBER.columns

    def describe(
        self,
        column: PredictedColumn,
        values: "NumberValues | ClassValues | TextValues",
        code: str,
        value: bytes,
    ) -> Finding:
        """Describe a field, given its problem code; name the column if there are several."""
        finding = values.describe(code, value)
        if len(self.columns) == 1:
            return finding
        sentence = f"column {quoted(column.name)}: {finding.sentence}"
        return Finding(sentence, finding.expected, finding.found, finding.advice, finding.place)


ONE_NUMBER = SubmissionColumns((PredictedColumn(PREDICTION),))


def codes_of(fields: Sequence[bytes], column: PredictedColumn) -> NDArray[np.int32] | None:
    """Return the positions of the classes in each field, or None if a field is not accepted."""
    codes, places = column.codes, max(column.places, 1)
    empty = [NO_CLASS] * places
    rows = list[list[int]]()
    for field in fields:
        names = column.names_in(field.strip(BLANKS))
        try:
            row = [codes[name] for name in names]
        except KeyError:
            return None
        if not row:
            return None
        rows.append((row + empty)[:places])
    positions = np.array(rows, np.int32).reshape(-1, places)
    return positions if column.places else positions[:, 0]

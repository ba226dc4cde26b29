"""Prediction columns: numbers in a range, classes, lists of classes, or texts."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.numbers import LONGEST_NUMBER, domain_of, fault_of_number, finite
from grader.files.reading.row_ids import as_integer
from grader.files.reading.text import BLANKS

ID, PREDICTION = "id", "prediction"
_NAMES_SHOWN = 8
NO_CLASS = -1
LONGEST_TEXT = 1000


@dataclass(frozen=True)
class PredictedColumn:
    """A column of predictions, with the values that it may contain.

    Attributes
    ----------
    name : str
        The name in files. A file may also use one of the `aliases`.
    lowest, highest : float
        The range of the numbers.
    classes : tuple of str
        If there are any, each value is one of these classes instead of a number. It is read as the position
        of its class.
    places : int
        If it is not 0, each value is a list of classes, separated by spaces, of which this many are read.
    is_text : bool
        Whether each value is any text of at most 1,000 bytes.
    key : str
        The name in the metric if it is another one.
    """

    name: str
    lowest: float = -sys.float_info.max
    highest: float = sys.float_info.max
    classes: tuple[str, ...] = ()
    places: int = 0
    is_text: bool = False
    key: str = ""
    aliases: tuple[str, ...] = ()

    @cached_property
    def codes(self) -> Mapping[bytes, int]:
        """The position of each class."""
        return {normalize("NFC", name).encode(): code for code, name in enumerate(self.classes)}

    def code_of(self, name: bytes) -> int:
        """Return the position of a class, also if its letters are decomposed; -1 for another text."""
        if not name.isascii():
            text = normalize("NFC", name.decode("utf-8", "surrogateescape"))
            name = text.encode("utf-8", "surrogateescape")
        return self.codes.get(name, NO_CLASS)

    @property
    def longest(self) -> int:
        """The maximum length of a field in bytes."""
        return LONGEST_TEXT if self.is_text else LONGEST_NUMBER

    def storage(self, rows: int) -> NDArray[Any]:
        """Return an array for the values of all rows."""
        if self.is_text:
            return np.full(rows, "", object)
        shape = (rows, self.places) if self.places else rows
        return np.full(shape, NO_CLASS, np.int32) if self.classes else np.zeros(rows)

    def parsed(self, value: bytes) -> tuple[Any, str]:
        """Return the value of a trimmed field for the storage, and its problem code or an empty text."""
        if len(value) > self.longest:
            return None, "field_too_long"
        if self.is_text:
            return value.decode(), ""
        if self.classes:
            codes = self.codes_in(value)
            return codes, "" if codes is not None else "unknown_class" if value else "empty_prediction"
        number = finite(value)
        if number is None:
            return None, fault_of_number(value)
        return number, "" if self.lowest <= number <= self.highest else "out_of_range"

    def codes_in(self, value: bytes) -> int | list[int] | None:
        """Return the position of a class, or those of a list; None if there is no class or an unknown one."""
        if not self.places:
            code = self.code_of(value)
            return None if code == NO_CLASS else code
        codes = [self.code_of(name) for name in value.split()]
        if not codes or NO_CLASS in codes:
            return None
        return (codes + [NO_CLASS] * self.places)[: self.places]

    def culprit(self, value: bytes) -> bytes:
        """Return the part of an unacceptable field that is shown: the first unknown class, or all."""
        names = value.split() if self.places else [value]
        return next((name for name in names if self.classes and self.code_of(name) == NO_CLASS), value)

    def hint(self, value: bytes) -> str:
        """Return the likely reason why a text is not a class, or nothing."""
        whole = as_integer(self.culprit(value))
        if whole is None or self.code_of(whole) == NO_CLASS:
            return ""
        return f" (a program wrote the whole number {whole.decode()} as a decimal; write integers or texts)"

    @property
    def domain(self) -> str:
        """A description of the expected values."""
        if self.is_text:
            return f"a text of at most {LONGEST_TEXT:,} bytes"
        if self.classes:
            return "classes, separated by spaces" if self.places else "a class of the competition"
        return domain_of(self.lowest, self.highest)

    @property
    def sample(self) -> str:
        """A value for a sample submission."""
        if self.is_text:
            return "text"
        if self.classes:
            return " ".join(self.classes[: self.places or 1])
        return repr(min(max(0.5, self.lowest), self.highest))


@dataclass(frozen=True)
class SubmissionColumns:
    """The columns that a submission must have besides the ids, whose column may always be called ``id``."""

    columns: tuple[PredictedColumn, ...]
    id: str = ID

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all required columns, the id first."""
        return (self.id, *(column.name for column in self.columns))

    def canonical(self, names: Sequence[str]) -> list[str]:
        """Return the names of a header with the required names instead of their aliases."""
        aliases = {alias: column.name for column in self.columns for alias in column.aliases}
        aliases |= {ID: self.id}
        renamed = {alias: name for alias, name in aliases.items() if name not in names}
        return [name if name in self.names else renamed.get(name, name) for name in names]

    @property
    def header(self) -> str:
        """The expected header; with many columns, only its beginning."""
        names = self.names
        if len(names) <= _NAMES_SHOWN:
            return ",".join(names)
        return f"{','.join(names[:_NAMES_SHOWN])},… ({len(names)} columns)"

    @property
    def longest_texts(self) -> int:
        """The number of bytes of a row that texts may have."""
        return LONGEST_TEXT * sum(column.is_text for column in self.columns)

    @property
    def is_default(self) -> bool:
        """Whether these are the columns of a competition whose metric only compares predictions."""
        return [replace(each, name="", key="", aliases=()) for each in self.columns] == [PredictedColumn("")]


ONE_NUMBER = SubmissionColumns((PredictedColumn(PREDICTION),))


def codes_of(fields: Sequence[bytes], column: PredictedColumn) -> NDArray[np.int32] | None:
    """Return the positions of the classes in each field, or None if a field is not accepted."""
    rows = [column.codes_in(field.strip(BLANKS)) for field in fields]
    if None in rows:
        return None
    shape = (len(rows), column.places) if column.places else len(rows)
    return np.array(rows, np.int32).reshape(shape)

"""Table columns: selection, allowed numbers, and values."""

from dataclasses import dataclass, field
from io import TextIOWrapper

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.containers import Source, open_content
from grader.files.reading.numbers import domain_of
from grader.files.reading.problems import FileProblem, FileRejected
from grader.files.reading.row_ids import RowIds

# A shorter run may be caused by the program that wrote the file.
_NUL_RUN = "\0" * 16
USAGE_CODES = {"ignored": 0, "public": 1, "private": 2}
SPLITS = {"public": (1,), "private": (2,), "all": (1, 2)}


@dataclass(frozen=True, slots=True)
class Categories:
    """The texts of a column, each once in the order of first appearance.

    `codes` are, for each row, the index of its text in `values`, or -1 for a blank.
    """

    values: tuple[str, ...]
    codes: NDArray[np.int32]

    def texts(self) -> list[str]:
        """Return the text of each row; a blank is an empty text."""
        # The code of a blank, -1, is the index of the last item.
        named = [*self.values, ""]
        return [named[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """The numbers that a column may contain, with inclusive bounds; a blank is read as NaN.

    `part` is the name of the values in messages, such as ``"label"``.
    """

    part: str
    low: float = 0.0
    high: float = 1.0
    may_be_blank: bool = False

    def allowed(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return a mask of the numbers that the column allows; NaN is a blank."""
        inside = (values >= self.low) & (values <= self.high)
        return inside | np.isnan(values) if self.may_be_blank else inside

    @property
    def domain(self) -> str:
        """The values that are expected, in words."""
        return domain_of(self.low, self.high) + (" or a blank" if self.may_be_blank else "")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The names of the columns to read; all others are skipped.

    `texts` are kept as categories; a blank is a problem in those that are `filled`.
    """

    id: str | None
    usage: str | None
    numbers: dict[str, NumberColumn]
    texts: tuple[str, ...] = ()
    filled: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """The columns to read, each once."""
        once = [name for name in (self.id, self.usage) if name is not None]
        return list(dict.fromkeys([*once, *self.numbers, *self.texts]))


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that were read, in the order of the rows; without an id column, their numbers are ids."""

    row_ids: RowIds
    usage: NDArray[np.int8] | None
    numbers: dict[str, NDArray[np.float64]]
    texts: dict[str, Categories] = field(default_factory=dict)


class _CsvText(TextIOWrapper):
    """CSV text in which a long run of NUL bytes is refused: the file was damaged by a full disk."""

    _line = 0

    def __next__(self) -> str:  # type: ignore[override]
        text = super().__next__()
        self._line += 1
        if _NUL_RUN in text:
            raise FileRejected(FileProblem.of("nul_byte", text.partition("\0")[0], lines=[self._line]))
        return text


def text_stream(source: Source, cap: int) -> TextIOWrapper:
    """Return the decoded CSV of a source as a stream that leaves line endings to the parser."""
    stream = open_content(source, cap=cap)
    return _CsvText(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")

"""Which of the expected ids a submission holds: the missing and the repeated ones."""

from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.files.findings import LINES_SHOWN
from grader.files.problems import Problem
from grader.files.rowids import RowIds
from grader.files.wording import counted, listed, quoted


@dataclass(frozen=True, slots=True)
class _Repeat:
    place: int
    first_line: int
    line: int


class Coverage:
    """Marks the ids as they occur.

    Parameters
    ----------
    row_ids : RowIds
    first_lines : array of int64
        For each expected id the line of its first occurrence, 0 for none; shared with the reader.
    """

    def __init__(self, row_ids: RowIds, first_lines: "array[int]") -> None:
        self._row_ids = row_ids
        self._first_lines = first_lines
        self._repeats = np.zeros(len(row_ids), np.int32)
        self._shown: list[_Repeat] = []

    def mark(self, place: int, line: int) -> None:
        """Note that an expected id occurs on a line; marking the same line twice counts once."""
        first_line = self._first_lines[place]
        if not first_line:
            self._first_lines[place] = line
        elif first_line != line:
            self._repeats[place] += 1
            if len(self._shown) < LINES_SHOWN:
                self._shown.append(_Repeat(place, first_line, line))

    def problems(self, rows: int, *, is_complete: bool) -> list[Problem]:
        """Return what is wrong with the ids as a whole, after `rows` lines below the header."""
        expected = len(self._row_ids)
        found = []
        if not is_complete:
            found.append(_too_many_rows(rows, expected))
        repeated = np.flatnonzero(self._repeats)
        missing = np.flatnonzero(np.frombuffer(self._first_lines, np.int64) == 0)
        if len(repeated):
            found.append(self._repeated(repeated, missing, rows, is_complete))
        if not rows:
            found.append(_no_rows(expected))
        elif len(missing) and is_complete:
            found.append(self._missing(missing, rows))
        return found

    def _repeated(
        self, repeated: NDArray[np.int64], missing: NDArray[np.int64], rows: int, is_complete: bool
    ) -> Problem:
        counts = self._repeats[repeated]
        expected = len(self._row_ids)
        lines = sorted({line for repeat in self._shown for line in (repeat.first_line, repeat.line)})
        if is_complete and len(repeated) == expected and counts.min() == counts.max():
            message = f"{counted(rows, 'row')}, expected {expected:,}; every id appears {_times(counts[0])}."
        else:
            shown = self._row_ids.at([repeat.place for repeat in self._shown])
            places = [
                f"id {quoted(name)} twice (lines {repeat.first_line:,} and {repeat.line:,})"
                for name, repeat in zip(shown, self._shown, strict=True)
            ]
            total = counted(len(repeated), "duplicated id", at_least=not is_complete)
            message = f"{listed(places)}; {total}; expected each id once."
        if self._look_rounded(repeated, missing):
            message += " The ids look rounded: keep them as text or 64-bit integers, not as floats."
        return Problem(
            "duplicate_row_id",
            message[0].upper() + message[1:],
            line=lines[0],
            lines=tuple(lines[:LINES_SHOWN]),
            count=len(repeated),
            expected="each id once",
            found=counted(len(repeated), "duplicated id"),
        )

    def _look_rounded(self, repeated: NDArray[np.int64], missing: NDArray[np.int64]) -> bool:
        """Tell whether what is there fits a float and what is missing does not."""
        if not self._row_ids.are_integers or not len(missing):
            return False
        there = [int(text) for text in self._row_ids.at(repeated[:LINES_SHOWN])]
        gone = [int(text) for text in self._row_ids.at(missing[:LINES_SHOWN])]
        return any(
            all(int(kind(value)) == value for value in there)
            and all(int(kind(value)) != value for value in gone)
            for kind in (np.float32, np.float64)
        )

    def _missing(self, missing: NDArray[np.int64], rows: int) -> Problem:
        """Name the missing ids in id order: the solution's order is nobody's business."""
        first = self._row_ids.smallest(missing, LINES_SHOWN)
        more = ", …" if len(missing) > len(first) else ""
        expected = len(self._row_ids)
        return Problem(
            "missing_row_id",
            f"{counted(len(missing), 'id')} missing: {', '.join(first)}{more} "
            f"({counted(rows, 'row')} found, {expected:,} expected).",
            count=len(missing),
            expected=counted(expected, "row"),
            found=counted(rows, "row"),
        )


def _times(repeats: int) -> str:
    return "twice" if repeats == 1 else f"{repeats + 1} times"


def _no_rows(expected: int) -> Problem:
    return Problem(
        "no_rows",
        f"The file has 0 rows; expected {expected:,}.",
        count=expected,
        expected=counted(expected, "row"),
        found="0 rows",
    )


def _too_many_rows(rows: int, expected: int) -> Problem:
    return Problem(
        "too_many_rows",
        f"The file has at least {counted(rows, 'row')}; expected {expected:,}. Reading stopped there.",
        count=rows - expected,
        expected=counted(expected, "row"),
        found=counted(rows, "row", at_least=True),
    )

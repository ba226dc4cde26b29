"""Missing and duplicate row ids of a submission."""

from array import array

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.problems import LINES_SHOWN, Problem
from grader.files.reading.row_ids import RowIds
from grader.text import counted, listed, named

Places = NDArray[np.int64]
_SAMPLE = 1000
_SMALLEST_SAMPLE = 20  # so many ids do not fit a float by chance
_ROUNDED = " The ids look rounded: keep them as text or 64-bit integers, not as floats."


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
        self._repeats = array("l", bytes(array("l").itemsize * len(row_ids)))
        self._lines_shown: dict[int, list[int]] = {}

    def mark(self, place: int, line: int) -> None:
        """Note that an expected id occurs on a line; marking the same line twice counts once."""
        first_line = self._first_lines[place]
        if not first_line:
            self._first_lines[place] = line
        elif first_line != line:
            self._repeats[place] += 1
            if place in self._lines_shown or len(self._lines_shown) < LINES_SHOWN:
                lines = self._lines_shown.setdefault(place, [first_line])
                if len(lines) < LINES_SHOWN:
                    lines.append(line)

    def problems(self, rows: int, *, is_complete: bool) -> list[Problem]:
        """Return what is wrong with the ids as a whole, after `rows` rows below the header."""
        expected = len(self._row_ids)
        found = []
        if not is_complete and rows > expected:
            found.append(_too_many_rows(rows, expected))
        repeats = np.asarray(self._repeats, np.int64)
        repeated = np.flatnonzero(repeats)
        missing = np.flatnonzero(np.frombuffer(self._first_lines, np.int64) == 0)
        if len(repeated) == expected and repeats.min() == repeats.max() and is_complete:
            found.append(self._everything_repeated(rows, int(repeats[0]) + 1))
        elif len(repeated):
            found.append(self._repeated(repeated, missing, is_complete))
        if not rows and is_complete:
            found.append(_no_rows(expected))
        elif len(missing) and is_complete:
            sample = self._sample_of_found()
            look_rounded = (
                not len(repeated) and len(sample) >= _SMALLEST_SAMPLE and self._look_rounded(sample, missing)
            )
            found.append(self._missing(missing, rows, _ROUNDED if look_rounded else ""))
        return found

    def _everything_repeated(self, rows: int, times: int) -> Problem:
        expected = len(self._row_ids)
        lines = self._first_repeated_lines()
        return Problem(
            "duplicate_row_id",
            f"{counted(rows, 'row')}, expected {expected:,}; every id appears {_times(times)}.",
            line=lines[0],
            lines=lines,
            count=expected,
            expected=counted(expected, "row"),
            found=counted(rows, "row"),
        )

    def _repeated(self, repeated: Places, missing: Places, is_complete: bool) -> Problem:
        names = self._row_ids.at(self._lines_shown)
        places = [
            f"id {named(name)} appears {_times(self._repeats[place] + 1)} "
            f"(lines {listed([f'{line:,}' for line in lines], total=int(self._repeats[place]) + 1)})"
            for name, (place, lines) in zip(names, self._lines_shown.items(), strict=True)
        ]
        total = counted(len(repeated), "duplicated id", at_least=not is_complete)
        message = f"{listed(places, total=len(repeated))}; {total}; expected each id once."
        if self._look_rounded(repeated, missing):
            message += _ROUNDED
        lines = self._first_repeated_lines()
        return Problem(
            "duplicate_row_id",
            message[0].upper() + message[1:],
            line=lines[0],
            lines=lines,
            count=len(repeated),
            expected="each id once",
            found=total,
        )

    def _first_repeated_lines(self) -> tuple[int, ...]:
        lines = {line for shown in self._lines_shown.values() for line in shown}
        return tuple(sorted(lines)[:LINES_SHOWN])

    def _sample_of_found(self) -> Places:
        return np.flatnonzero(np.frombuffer(self._first_lines, np.int64))[:_SAMPLE]

    def _look_rounded(self, found: Places, missing: Places) -> bool:
        """Return whether what is there fits a float and what is missing does not."""
        if not self._row_ids.are_integers or not len(found) or not len(missing):
            return False
        there = [int(text) for text in self._row_ids.at(found[:_SAMPLE])]
        gone = [int(text) for text in self._row_ids.at(missing[:LINES_SHOWN])]
        return any(
            all(_fits(value, kind) for value in there) and not any(_fits(value, kind) for value in gone)
            for kind in (np.float32, np.float64)
        )

    def _missing(self, missing: Places, rows: int, hint: str) -> Problem:
        """Name the missing ids in id order: the solution's order is nobody's business."""
        names = [named(name) for name in self._row_ids.smallest(missing, LINES_SHOWN)]
        expected = len(self._row_ids)
        found = f" ({counted(rows, 'row')} found, {expected:,} expected)" if rows != expected else ""
        return Problem(
            "missing_row_id",
            f"{counted(len(missing), 'id')} missing: {listed(names, total=len(missing))}{found}.{hint}",
            count=len(missing),
            expected=f"all {counted(expected, 'id')}",
            found=f"{expected - len(missing):,} of them",
        )


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count:,} times"


def _fits(value: int, kind: type[np.floating]) -> bool:
    if value > 1 << 63:
        return False
    return int(kind(value)) == value


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

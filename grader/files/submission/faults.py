"""Notes on accepted submissions, and the problems of missing and repeated ids."""

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.problems import LINES_SHOWN, FileProblem, Note
from grader.files.reading.row_ids import RowIds
from grader.files.submission.columns import ONE_NUMBER, SubmissionColumns
from grader.text import counted, listed, named

FIRST_LINE = 2
_FEW_DISTINCT = 1000
_ROWS_PER_VALUE = 10
_LARGE_SHARE = 0.02
# Below this number of rows, sorting takes less time than a proof that there are not many ties.
_MANY_ROWS = 10_000
_MULTIPLIER, _BUCKET_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(48)
_SAMPLE = 1000
# It is very unlikely that this many ids fit into a float by chance.
_SMALLEST_SAMPLE = 20
_ROUNDED = " The ids look rounded. Store them as text or 64-bit integers, not as floats."


def remarks_on(predictions: NDArray[np.float64]) -> list[Note]:
    """Return notes about predictions outside [0, 1] and about many tied predictions.

    Parameters
    ----------
    predictions : array of float64, shape (n,)
        Finite and in the order of the file; an accepted file has one on every line.
    """
    return [*_outside(predictions), *_ties(predictions)]


def underflow_notes(lines: Sequence[int], wanted: SubmissionColumns = ONE_NUMBER) -> list[Note]:
    """Return a note on nonzero numbers that are read as 0, if there are any."""
    if not lines:
        return []
    effect = "; rows with the same value tie and count as one half" if wanted.is_default else ""
    message = (
        f"{counted(len(lines), 'value')} too small for a 64-bit float (first line {lines[0]:,}), read as "
        f"0{effect}."
    )
    return [Note("underflow", message, line=lines[0], count=len(lines))]


def _outside(predictions: NDArray[np.float64]) -> list[Note]:
    outside = (predictions < 0) | (predictions > 1)
    count = int(np.count_nonzero(outside))
    if not count:
        return []
    line = FIRST_LINE + int(outside.argmax())
    message = f"{counted(count, 'value')} outside [0, 1] (first line {line:,}); only the order counts."
    return [Note("outside_unit_interval", message, line=line, count=count)]


def _ties(predictions: NDArray[np.float64]) -> list[Note]:
    if _are_spread(predictions):
        return []
    values, counts = np.unique(predictions, return_counts=True)
    rows, distinct, longest = len(predictions), len(values), int(counts.max(initial=0))
    if rows < 2 or distinct == rows:
        return []
    if distinct <= _FEW_DISTINCT and distinct * _ROWS_PER_VALUE <= rows:
        message = (
            f"The predictions have {counted(distinct, 'distinct value')} on {counted(rows, 'row')}; rows "
            "with the same value tie and count as one half."
        )
        return [Note("few_distinct_values", message, count=rows)]
    if longest > rows * _LARGE_SHARE:
        value = float(values[int(counts.argmax())])
        message = (
            f"{counted(longest, 'row')} ({longest / rows:.1%}) share the prediction {value!r}; they tie and "
            "count as one half."
        )
        return [Note("many_ties", message, count=longest)]
    return []


def _are_spread(predictions: NDArray[np.float64]) -> bool:
    """Return whether no value is shared by enough rows for a note, proven without sorting.

    A note requires a value on at least one of `_FEW_DISTINCT` rows. Equal values are in the same bucket of a
    hash, so it is enough that no bucket has as many rows.
    """
    if len(predictions) < _MANY_ROWS:
        return False
    bits = (predictions + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    buckets = (bits * _MULTIPLIER) >> _BUCKET_SHIFT
    return int(np.bincount(buckets.view(np.int64)).max()) * _FEW_DISTINCT < len(predictions)


class Coverage:
    """Records the occurrences of the expected ids.

    Attributes
    ----------
    first_lines : array of int64
        For each expected id, the line of its first occurrence, or 0.
    """

    def __init__(self, row_ids: RowIds) -> None:
        self._row_ids = row_ids
        self._repeats: dict[int, int] = {}
        self._shown: dict[int, list[int]] = {}
        self.first_lines = array("q", bytes(8 * len(row_ids)))

    def mark(self, place: int, line: int) -> None:
        """Record that an expected id occurs on a line."""
        if not self.first_lines[place]:
            self.first_lines[place] = line
            return
        self._repeats[place] = self._repeats.get(place, 0) + 1
        if len(self._shown) < LINES_SHOWN or place in self._shown:
            lines = self._shown.setdefault(place, [self.first_lines[place]])
            lines += [line] * (len(lines) < LINES_SHOWN)

    def problems(self, rows: int, last_line: int, *, is_complete: bool) -> list[FileProblem]:
        """Return the problems of the ids as a whole, after reading `rows` rows."""
        problems = []
        expected = len(self._row_ids)
        shown_rows, expected_rows = counted(rows, "row", at_least=not is_complete), counted(expected, "row")
        if not is_complete and rows > expected:
            message = f"The file has {shown_rows}; expected {expected:,}. Reading stopped there."
            found = FileProblem(
                "too_many_rows", message, None, (), rows - expected, expected_rows, shown_rows
            )
            problems.append(found)
        if self._repeats:
            problems.append(self._repeated(is_complete))
        if not is_complete:
            message = (
                f"Reading stopped after line {last_line:,}, because there are too many rows or too many "
                "problems. Counts include only the lines read."
            )
            lines = f"{last_line:,} lines"
            problems.append(FileProblem("reading_stopped", message, last_line, (last_line,), 1, None, lines))
        elif not rows:
            message = f"The file has 0 rows; expected {expected:,}."
            problems.append(FileProblem("no_rows", message, None, (), expected, expected_rows, shown_rows))
        elif len(missing := np.flatnonzero(np.frombuffer(self.first_lines, np.int64) == 0)):
            problems.append(self._missing(missing, rows))
        return problems

    def _repeated(self, is_complete: bool) -> FileProblem:
        names = self._row_ids.at(self._shown)
        places = [
            f"id {named(name)} appears {self._repeats[place] + 1:,} times "
            f"(lines {listed([f'{line:,}' for line in lines], total=self._repeats[place] + 1)})"
            for name, (place, lines) in zip(names, self._shown.items(), strict=True)
        ]
        count = len(self._repeats)
        total = counted(count, "duplicated id", at_least=not is_complete)
        message = f"{listed(places, total=count)}; {total}; expected each id once."
        lines = tuple(sorted({line for shown in self._shown.values() for line in shown})[:LINES_SHOWN])
        message = message[0].upper() + message[1:]
        return FileProblem("duplicate_row_id", message, lines[0], lines, count, "each id once", total)

    def _missing(self, missing: NDArray[np.int64], rows: int) -> FileProblem:
        """List the missing ids in id order, because the solution's order is secret."""
        names = [named(name) for name in self._row_ids.smallest(missing, LINES_SHOWN)]
        count, expected = len(missing), len(self._row_ids)
        rows_text = f" ({counted(rows, 'row')} found, {expected:,} expected)" if rows != expected else ""
        hint = _ROUNDED if self._look_rounded(missing) else ""
        message = f"{counted(count, 'id')} missing: {listed(names, total=count)}{rows_text}.{hint}"
        found = f"{expected - count:,} of them"
        return FileProblem(
            "missing_row_id", message, None, (), count, f"all {counted(expected, 'id')}", found
        )

    def _look_rounded(self, missing: NDArray[np.int64]) -> bool:
        """Return whether the ids that were found fit into a float and the missing ids do not."""
        there = np.flatnonzero(np.frombuffer(self.first_lines, np.int64))[:_SAMPLE]
        if not self._row_ids.are_integers or (len(there) < _SMALLEST_SAMPLE and not self._repeats):
            return False
        found = [int(text) for text in self._row_ids.at(there)]
        gone = [int(text) for text in self._row_ids.at(missing[:LINES_SHOWN])]
        return any(
            all(_fits(value, kind) for value in found) and not any(_fits(value, kind) for value in gone)
            for kind in (np.float32, np.float64)
        )


def _fits(value: int, kind: type[np.floating]) -> bool:
    return value <= 1 << 63 and int(kind(value)) == value

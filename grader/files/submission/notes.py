"""Notes on an accepted submission: predictions outside 0..1, many ties."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.problems import Note
from grader.text.wording import counted

_FEW_DISTINCT = 1000
_ROWS_PER_VALUE = 10
_LARGE_SHARE = 0.02


def remarks_on(predictions: NDArray[np.float64], first_line: int) -> list[Note]:
    """Say where predictions lie outside [0, 1] and where many of them tie.

    Parameters
    ----------
    predictions : array of float64, shape (n,)
        Finite, in the order of the file: an accepted file has one on every line.
    first_line : int
        The line the first of them stands on.
    """
    return [*_outside(predictions, first_line), *_ties(predictions)]


def underflow_notes(lines: Sequence[int]) -> list[Note]:
    """Say that the numbers on these lines are not 0 and are read as 0, if there are any."""
    if not lines:
        return []
    found = counted(len(lines), "value")
    return [
        Note(
            "underflow",
            f"{found} too small for a 64-bit float (first line {lines[0]:,}), read as 0; rows with the same "
            "value tie and count one half.",
            line=lines[0],
            count=len(lines),
        )
    ]


def _outside(predictions: NDArray[np.float64], first_line: int) -> list[Note]:
    outside = (predictions < 0) | (predictions > 1)
    count = int(np.count_nonzero(outside))
    if not count:
        return []
    line = first_line + int(outside.argmax())
    return [
        Note(
            "outside_unit_interval",
            f"{counted(count, 'value')} outside [0, 1] (first line {line:,}); only the order counts.",
            line=line,
            count=count,
        )
    ]


def _ties(predictions: NDArray[np.float64]) -> list[Note]:
    ordered = np.sort(predictions)
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    runs = np.diff(begins, append=len(ordered))
    rows, distinct, longest = len(ordered), len(begins), int(runs.max(initial=0))
    if rows < 2 or distinct == rows:
        return []
    notes = []
    if distinct <= _FEW_DISTINCT and distinct * _ROWS_PER_VALUE <= rows:
        values = counted(distinct, "distinct value")
        notes.append(
            Note(
                "few_distinct_values",
                f"The predictions have {values} on {counted(rows, 'row')}; "
                "rows with the same value tie and count one half.",
                count=rows,
            )
        )
    elif longest > rows * _LARGE_SHARE:
        value = float(ordered[begins[int(runs.argmax())]])
        notes.append(
            Note(
                "many_ties",
                f"{counted(longest, 'row')} ({longest / rows:.1%}) share the prediction {value!r}; "
                "they tie and count one half.",
                count=longest,
            )
        )
    return notes

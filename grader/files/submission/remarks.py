"""Notes on the predictions of accepted submissions."""

import numpy as np
from numpy.typing import NDArray

from grader.files.reading.problems import Note
from grader.text import counted

FIRST_LINE = 2
_FEW_DISTINCT = 1000
_ROWS_PER_VALUE = 10
_LARGE_SHARE = 0.02
# Below this number of rows, sorting takes less time than a proof that there are not many ties.
_MANY_ROWS = 10_000
_MULTIPLIER, _BUCKET_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(48)


def remarks_on(predictions: NDArray[np.float64]) -> list[Note]:
    """Return notes about predictions outside [0, 1] and about many tied predictions.

    The predictions are finite and in the order of the file; an accepted file has one on every line.
    """
    outside = (predictions < 0) | (predictions > 1)
    notes = _ties(predictions)
    if count := int(np.count_nonzero(outside)):
        line = FIRST_LINE + int(outside.argmax())
        notes.insert(
            0, Note.of("outside_unit_interval", line=line, count=count, values=counted(count, "value"))
        )
    return notes


def _ties(predictions: NDArray[np.float64]) -> list[Note]:
    if _are_spread(predictions):
        return []
    values, counts = np.unique(predictions, return_counts=True)
    rows, distinct, longest = len(predictions), len(values), int(counts.max(initial=0))
    if rows < 2 or distinct == rows:
        return []
    if distinct <= _FEW_DISTINCT and distinct * _ROWS_PER_VALUE <= rows:
        of_rows = counted(rows, "row")
        values_of = counted(distinct, "distinct value")
        return [Note.of("few_distinct_values", count=rows, values=values_of, rows=of_rows)]
    if longest > rows * _LARGE_SHARE:
        value, share = repr(float(values[int(counts.argmax())])), f"{longest / rows:.1%}"
        tied = counted(longest, "row")
        return [Note.of("many_ties", count=longest, rows=tied, share=share, value=value)]
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

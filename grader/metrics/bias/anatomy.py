"""Counts for a solution: rows per AUC, blank annotations, near-threshold values, overlaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from grader.metrics.bias.prepared import BoolArray, FloatArray, PreparedSplit

HAIR = 1e-6
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class CellCounts:
    """The numbers of rows of each class in one split that mention an identity."""

    name: str
    positives: int
    negatives: int


@dataclass(frozen=True, slots=True)
class ThresholdCounts:
    """The numbers of values of a column at a threshold and just below it.

    Attributes
    ----------
    at : int
        Values exactly at the threshold, which count as true.
    just_below : int
        Values at most one millionth below the threshold. They count as false but may have been meant to
        equal the threshold.
    largest_below : float or None
        The largest value below the threshold; None if there is none.
    """

    at: int
    just_below: int
    largest_below: float | None


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two identities that share rows; `share` is the common fraction of the smaller identity's rows."""

    smaller: str
    larger: str
    rows: int
    share: float


def count_cells(split: PreparedSplit) -> tuple[CellCounts, ...]:
    """Return the counts of each identity, in the order of the split."""
    positives = (int(np.count_nonzero(split.labels[rows])) for rows in split.members)
    return tuple(
        CellCounts(name, count, rows.size - count)
        for name, rows, count in zip(split.names, split.members, positives, strict=True)
    )


def unannotated(identities: Mapping[str, FloatArray], rows: int) -> BoolArray:
    """Return a mask of the rows that are blank in every identity.

    If there are no identities, the mask contains all rows.

    Parameters
    ----------
    identities : mapping of str to array of float64, each of shape (rows,)
    rows : int

    Returns
    -------
    array of bool, shape (rows,)
    """
    blank = np.ones(rows, np.bool_)
    for values in identities.values():
        blank &= np.isnan(values)
    return blank


def near_threshold(values: FloatArray, threshold: float) -> ThresholdCounts:
    """Count the values exactly at a threshold and at most one millionth below it.

    Parameters
    ----------
    values : array of float64
        The values of a column; NaN (a blank) is ignored.
    threshold : float

    Returns
    -------
    ThresholdCounts
    """
    below = values[values < threshold]
    return ThresholdCounts(
        at=int(np.count_nonzero(values == threshold)),
        just_below=int(np.count_nonzero(below >= threshold - HAIR)),
        largest_below=float(below.max()) if below.size else None,
    )


def overlaps(members: Mapping[str, BoolArray], *, least_share: float) -> tuple[Overlap, ...]:
    """Find pairs of identities that have many rows in common.

    Parameters
    ----------
    members : mapping of str to array of bool, each of shape (n,)
        For each identity, a mask of the rows that mention it.
    least_share : float
        Minimum fraction of the smaller identity's rows that must also mention the other identity.

    Returns
    -------
    tuple of Overlap
        The overlaps in descending order of share.
    """
    names = list(members)
    common = _common_rows([members[name] for name in names])
    overlaps = []
    for a, b in combinations(range(len(names)), 2):
        smaller, larger = (a, b) if common[a, a] <= common[b, b] else (b, a)
        size, rows = int(common[smaller, smaller]), int(common[a, b])
        if size and rows >= least_share * size:
            overlaps.append(Overlap(names[smaller], names[larger], rows, rows / size))
    return tuple(sorted(overlaps, key=lambda overlap: (-overlap.share, -overlap.rows)))


def _common_rows(members: Sequence[BoolArray]) -> NDArray[np.int64]:
    """Count the rows shared by each pair of identities, in batches of rows."""
    common = np.zeros((len(members), len(members)), np.int64)
    rows = members[0].size if members else 0
    for begin in range(0, rows, _ROWS_AT_ONCE):
        part = np.array([each[begin : begin + _ROWS_AT_ONCE] for each in members], np.float32)
        # Counts per batch are at most 65,536, which float32 represents exactly.
        common += (part @ part.T).astype(np.int64)
    return common

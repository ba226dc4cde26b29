"""Counts for a solution: rows per AUC, blank annotations, near-threshold values, overlaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from grader.metrics.bias.expected_error import ASSUMED_AUC, auc_standard_error
from grader.metrics.bias.prepared import BoolArray, FloatArray, PreparedSplit
from grader.metrics.bias.subgroups import BIAS_AUCS

HAIR = 1e-6
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class CellCounts:
    """The numbers of rows that the three AUCs of an identity compare in one split.

    Attributes
    ----------
    name : str
    positives, negatives : int
        Rows that mention the identity, by class.
    background_positives, background_negatives : int
        All other rows of the split, by class.
    subgroup_error, bpsn_error, bnsp_error : float or None
        The expected standard error of each AUC; None if the AUC is undefined.
    """

    name: str
    positives: int
    negatives: int
    background_positives: int
    background_negatives: int
    subgroup_error: float | None
    bpsn_error: float | None
    bnsp_error: float | None

    @property
    def errors(self) -> dict[str, float | None]:
        """The expected standard errors by AUC."""
        return dict(zip(BIAS_AUCS, (self.subgroup_error, self.bpsn_error, self.bnsp_error), strict=True))


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


def count_cells(split: PreparedSplit, auc: float = ASSUMED_AUC) -> tuple[CellCounts, ...]:
    """Count the cells of every identity and estimate the standard errors of its AUCs.

    Parameters
    ----------
    split : PreparedSplit
    auc : float
        The assumed AUC, in [0, 1].

    Returns
    -------
    tuple of CellCounts
        One element for each identity, in the order of the split.
    """
    cells = []
    for name, rows in zip(split.names, split.members, strict=True):
        positives = int(np.count_nonzero(split.labels[rows]))
        negatives = rows.size - positives
        outside_positives, outside_negatives = split.positives - positives, split.negatives - negatives
        cells.append(
            CellCounts(
                name,
                positives,
                negatives,
                outside_positives,
                outside_negatives,
                subgroup_error=auc_standard_error(positives, negatives, auc),
                bpsn_error=auc_standard_error(outside_positives, negatives, auc),
                bnsp_error=auc_standard_error(positives, outside_negatives, auc),
            )
        )
    return tuple(cells)


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

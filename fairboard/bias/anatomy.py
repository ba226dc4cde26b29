"""Counts for a solution: rows per AUC and blank annotations."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairboard.bias.prepared import BoolArray, FloatArray, PreparedSplit


@dataclass(frozen=True, slots=True)
class CellCounts:
    """The numbers of rows of each class in one split that mention an identity."""

    name: str
    positives: int
    negatives: int


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

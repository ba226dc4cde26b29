"""Order of a file's rows by prediction: positions, ties and moved rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.metrics import RankArray, dense_ranks
from grader.metrics.interface import Columns

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FileOrder:
    """The order of the rows of one file.

    Attributes
    ----------
    ranks : ndarray of unsigned integers, shape (rows,)
        Dense ranks, from `dense_ranks`.
    is_numeric : bool
        Whether the predictions are numbers. Otherwise, the ranks are those of classes.
    """

    ranks: RankArray
    is_numeric: bool = True

    @classmethod
    def of(cls, columns: Columns) -> "FileOrder":
        """Return the order of the rows by the mean place in each column of predictions.

        A function that keeps the order of a column's values does not change it.
        """
        orders = [cls(_ranks(values), values.dtype.kind == "f") for values in columns.values()]
        if len(orders) == 1:
            return orders[0]
        # The places are multiples of 1/2 of the number of rows, so their sum is exact.
        places = sum(np.round(each.places * (2 * each.ranks.size)) for each in orders)
        return cls(dense_ranks(places), all(each.is_numeric for each in orders))

    @cached_property
    def block_sizes(self) -> NDArray[np.intp]:
        """The number of rows with each rank."""
        return np.bincount(self.ranks)

    @cached_property
    def places(self) -> FloatArray:
        """The rows' midranks divided by the number of rows, from 0 (bottom) to 1 (top)."""
        middles: FloatArray = (np.cumsum(self.block_sizes) - self.block_sizes / 2) / max(self.ranks.size, 1)
        return middles[self.ranks]

    @property
    def distinct(self) -> int:
        """The number of distinct values."""
        return self.block_sizes.size

    def moved(self, other: "FileOrder") -> BoolArray:
        """Return a mask of the moved rows: those that shifted by more positions than there are such rows.

        If K rows are moved to other positions, every other row shifts by at most K positions.
        """
        shifts = np.ceil(np.abs(self.places - other.places) * self.ranks.size - 1e-6).astype(np.int64)
        above = shifts.size - np.cumsum(np.bincount(shifts, minlength=shifts.size + 1))
        moved: BoolArray = shifts > int(np.argmax(above <= np.arange(above.size)))
        return moved


def _ranks(values: NDArray[Any]) -> RankArray:
    """Return the dense ranks of numbers, classes or lists of classes."""
    if values.dtype.kind == "f":
        return dense_ranks(values)
    codes = np.unique(values, axis=0 if values.ndim > 1 else None, return_inverse=True)[1]
    return codes.reshape(-1).astype(np.uint32)

"""Order of a file's rows by prediction: positions, ties and moved rows."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grader.metrics import RankArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FileOrder:
    """The order of the rows of one file.

    Attributes
    ----------
    ranks : ndarray of unsigned integers, shape (rows,)
        Dense ranks, from `dense_ranks`.
    """

    ranks: RankArray

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

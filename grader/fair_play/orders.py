"""Row orders of files: places, ties, and the number of rows moved between two files."""

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
        """How many rows have each rank."""
        return np.bincount(self.ranks)

    @cached_property
    def places(self) -> FloatArray:
        """Midranks divided by the number of rows: 0 is the bottom, 1 the top."""
        return self._middles[self.ranks]

    @cached_property
    def _middles(self) -> FloatArray:
        middles: FloatArray = (np.cumsum(self.block_sizes) - self.block_sizes / 2) / max(self.ranks.size, 1)
        return middles

    @property
    def distinct(self) -> int:
        """How many different values there are."""
        return self.block_sizes.size

    @property
    def largest_tie(self) -> float:
        """The share of the rows in the largest block of equal values."""
        return float(self.block_sizes.max()) / self.ranks.size if self.ranks.size else 1.0

    def correlation(self, other: "FileOrder") -> float | None:
        """Return Spearman's correlation, divided by the largest that the ties of both files allow.

        None where one of them is constant. Without the division a file of two values would look unlike the
        file of scores that it was made from.
        """
        one, two = (np.repeat(file._middles, file.block_sizes) - 0.5 for file in (self, other))
        most = float(
            (one * two).sum()
        )  # no product of BLAS, whose threads wait for each other on a busy machine
        return float(((self.places - 0.5) * (other.places - 0.5)).sum()) / most if most > 0 else None

    def moved(self, other: "FileOrder") -> BoolArray:
        """Return which rows moved: those that shifted by more places than there are such rows.

        When K rows are taken out of an order and put in elsewhere, each other row shifts by K places at most.
        """
        shifts = np.ceil(np.abs(self.places - other.places) * self.ranks.size - 1e-6).astype(np.int64)
        above = shifts.size - np.cumsum(np.bincount(shifts, minlength=shifts.size + 1))
        moved: BoolArray = shifts > int(np.argmax(above <= np.arange(above.size)))
        return moved

    def height(self, rows: BoolArray) -> float:
        """Return how high some rows lie: the chance that one of them lies above one of the others."""
        places = self.places[rows]
        inside, outside = places.size, rows.size - places.size
        if not inside or not outside:
            return 0.5
        return (float(places.sum()) * rows.size - inside * inside / 2) / (inside * outside)

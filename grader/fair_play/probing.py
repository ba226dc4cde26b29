"""Signs of label probing: few moved rows, isolated rows, and an AUC near chance."""

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.fair_play.orders import FileOrder

FEW_ROWS, FEW_ROWS_AT_LEAST = 0.02, 10
NEAR_CHANCE = 0.05
LONE_LEVELS = 3
LONE_ROWS, BLOCK_ROWS = 2, 10
LISTED_FILES = 5
"""A team is listed if it has at least this number of files with signs."""


class Sign(enum.StrEnum):
    """A property that a file shares with probes."""

    FEW_MOVED = "few_moved"
    LONE_ROWS = "lone_rows"
    CHANCE = "chance"


@dataclass(frozen=True, slots=True)
class FileSigns:
    """The signs of one file, with the evidence.

    Attributes
    ----------
    signs : tuple of Sign
    rows : int
        The number of rows.
    lone_levels : int
        The number of values with one or two rows, between values with ten or more rows.
    auc : float or None
        The overall AUC on the public rows, or None if it is unknown.
    nearest : int or None
        The number of the team's earlier file with the most similar order.
    moved : int or None
        The number of rows that have moved since that file.
    """

    signs: tuple[Sign, ...]
    rows: int
    lone_levels: int
    auc: float | None
    nearest: int | None
    moved: int | None


class TeamFiles:
    """The files of one team in chronological order, each compared with earlier files.

    Parameters
    ----------
    order_of : callable
        Returns the order of an earlier file by its number, or None if it can no longer be read.
    """

    def __init__(self, order_of: Callable[[int], FileOrder | None]) -> None:
        self._order_of = order_of
        self._numbers: list[int] = []
        self._places: list[NDArray[np.uint16]] = []

    def add(
        self, number: int, order: FileOrder, places: NDArray[np.uint16], *, auc: float | None
    ) -> FileSigns:
        """Return the signs of a team's next file; `places` are its sketch positions.

        A constant file has no signs because its score is known in advance.
        """
        nearest, moved = self._nearest(places), None
        if nearest is not None and (earlier := self._order_of(nearest)) is not None:
            moved = int(np.count_nonzero(order.moved(earlier)))
        self._numbers.append(number)
        self._places.append(places)
        lone = _lone_levels(order) if order.is_numeric else 0
        few = max(FEW_ROWS * order.ranks.size, FEW_ROWS_AT_LEAST)
        present = {
            Sign.FEW_MOVED: moved is not None and 0 < moved <= few,
            Sign.LONE_ROWS: lone >= LONE_LEVELS,
            Sign.CHANCE: auc is not None and abs(auc - 0.5) <= NEAR_CHANCE,
        }
        signs = tuple(sign for sign, there in present.items() if there and order.distinct > 1)
        return FileSigns(signs, order.ranks.size, lone, auc, nearest, moved)

    def _nearest(self, places: NDArray[np.uint16]) -> int | None:
        """Return the earlier file with the smallest difference on the sample, the latest among ties."""
        if not self._numbers:
            return None
        newest_first = np.stack(self._places[::-1]).astype(np.int32)
        return self._numbers[-1 - int(np.argmin(np.abs(newest_first - places).sum(axis=1)))]


def is_listed(files: Sequence[FileSigns]) -> bool:
    """Return whether organizers should review a team with these files."""
    return sum(bool(file.signs) for file in files) >= LISTED_FILES


def _lone_levels(order: FileOrder) -> int:
    sizes = order.block_sizes
    if sizes.size < 3:
        return 0
    inner, sides = sizes[1:-1], np.minimum(sizes[:-2], sizes[2:])
    return int(np.count_nonzero((inner <= LONE_ROWS) & (sides >= BLOCK_ROWS)))

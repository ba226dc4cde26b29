"""Signs of label probing, such as few moved rows, isolated rows, and noise."""

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.fair_play.orders import BoolArray, FileOrder

FEW_ROWS, FEW_ROWS_AT_LEAST = 0.02, 10
UNLIKE = 0.1
NEAR_CHANCE = 0.05
LONE_LEVELS = 3
LONE_ROWS, BLOCK_ROWS = 2, 10
FEW_VALUES, MANY_TIES = 100, 0.5
BLOCK_SHIFT = 0.35
LISTED_FILES = 5
"""A team is listed if it has at least this number of files with signs that count."""


class Sign(enum.StrEnum):
    """A property that a file shares with probes; see `COUNTING`."""

    FEW_MOVED = "few_moved"
    UNLIKE_BEST = "unlike_best"
    LONE_ROWS = "lone_rows"
    CHANCE = "chance"
    COARSE = "coarse"
    BLOCK = "block"


COUNTING = frozenset({Sign.FEW_MOVED, Sign.UNLIKE_BEST, Sign.LONE_ROWS, Sign.CHANCE})
"""The signs that count. The others also occur in honest files and serve only as additional evidence."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier file of the same team, with its submission number and row order."""

    number: int
    order: FileOrder


@dataclass(frozen=True, slots=True)
class Change:
    """The number of rows that have moved since an earlier file."""

    number: int
    rows: int


@dataclass(frozen=True, slots=True)
class Block:
    """The mean height of an identity's rows in the team's best file and in this file; 0.5 is the middle."""

    identity: str
    before: float
    height: float


@dataclass(frozen=True, slots=True)
class FileSigns:
    """The signs of one file, with the evidence.

    Attributes
    ----------
    signs : tuple of Sign
    rows, distinct : int
        The numbers of rows and of distinct values.
    largest_tie : float
        The share of the rows in the largest block of equal values.
    lone_levels : int
        The number of values with one or two rows, between values with ten or more rows.
    auc : float or None
        The overall AUC on the public rows, or None if it is unknown.
    best : int or None
        The number of the team's best earlier file.
    best_correlation : float or None
        The correlation with that file, or None if there is none or one of the files is constant.
    change : Change or None
        The difference from the nearest earlier file of the team.
    block : Block or None
        The identity whose height differs most from that in the team's best file.
    """

    signs: tuple[Sign, ...]
    rows: int
    distinct: int
    largest_tie: float
    lone_levels: int
    auc: float | None
    best: int | None
    best_correlation: float | None
    change: Change | None
    block: Block | None

    @property
    def counts(self) -> bool:
        """Whether the file counts towards listing its team."""
        return not COUNTING.isdisjoint(self.signs)


def signs_of(
    order: FileOrder,
    *,
    nearest: Earlier | None,
    best: Earlier | None,
    identities: Mapping[str, BoolArray],
    auc: float | None = None,
) -> FileSigns:
    """Return the signs of a file, compared with earlier files of its team.

    Parameters
    ----------
    order : FileOrder
    nearest : Earlier or None
        The team's earlier file with the most similar order.
    best : Earlier or None
        The team's earlier file with the best score.
    identities : mapping of str to ndarray of bool, shape (rows,)
        The rows of each identity.
    auc : float or None
        The overall AUC on the public rows, if the file has a score.

    Notes
    -----
    A constant file has no signs because its score is known in advance.
    """
    lone = _lone_levels(order)
    correlation = order.correlation(best.order) if best else None
    change = Change(nearest.number, int(np.count_nonzero(order.moved(nearest.order)))) if nearest else None
    block = _block(order, best.order, identities) if best else None
    found = {
        Sign.FEW_MOVED: change is not None
        and 0 < change.rows <= max(FEW_ROWS * order.ranks.size, FEW_ROWS_AT_LEAST),
        Sign.UNLIKE_BEST: correlation is not None and correlation < UNLIKE,
        Sign.LONE_ROWS: lone >= LONE_LEVELS,
        Sign.CHANCE: auc is not None and abs(auc - 0.5) <= NEAR_CHANCE,
        Sign.COARSE: order.distinct <= FEW_VALUES and order.largest_tie > MANY_TIES,
        Sign.BLOCK: block is not None and abs(block.height - block.before) > BLOCK_SHIFT,
    }
    signs = tuple(sign for sign, there in found.items() if there) if order.distinct > 1 else ()
    return FileSigns(
        signs=signs,
        rows=order.ranks.size,
        distinct=order.distinct,
        largest_tie=order.largest_tie,
        lone_levels=lone,
        auc=auc,
        best=best.number if best else None,
        best_correlation=correlation,
        change=change,
        block=block,
    )


class TeamFiles:
    """The files of one team in chronological order, each compared with earlier files.

    Parameters
    ----------
    identities : mapping of str to ndarray of bool, shape (rows,)
    order_of : callable
        Returns the order of an earlier file by its number, or None if it can no longer be read.
    """

    def __init__(
        self, identities: Mapping[str, BoolArray], order_of: Callable[[int], FileOrder | None]
    ) -> None:
        self._identities = identities
        self._order_of = order_of
        self._numbers: list[int] = []
        self._places: list[NDArray[np.uint16]] = []
        self._best: tuple[float, int] | None = None

    def add(
        self,
        number: int,
        order: FileOrder,
        places: NDArray[np.uint16],
        *,
        score: float | None,
        auc: float | None,
    ) -> FileSigns:
        """Return the signs of a team's next file; `places` are its sketch positions."""
        found = signs_of(
            order,
            nearest=self._earlier(self._nearest(places)),
            best=self._earlier(self._best[1] if self._best else None),
            identities=self._identities,
            auc=auc,
        )
        self._numbers.append(number)
        self._places.append(places)
        if score is not None and (self._best is None or score > self._best[0]):
            self._best = score, number
        return found

    def _nearest(self, places: NDArray[np.uint16]) -> int | None:
        """Return the earlier file with the smallest difference on the sample, the latest among ties."""
        if not self._numbers:
            return None
        newest_first = np.stack(self._places[::-1]).astype(np.int32)
        return self._numbers[-1 - int(np.argmin(np.abs(newest_first - places).sum(axis=1)))]

    def _earlier(self, number: int | None) -> Earlier | None:
        order = None if number is None else self._order_of(number)
        return None if number is None or order is None else Earlier(number, order)


def is_listed(files: Sequence[FileSigns]) -> bool:
    """Return whether organizers should review a team with these files."""
    return sum(file.counts for file in files) >= LISTED_FILES


def _lone_levels(order: FileOrder) -> int:
    sizes = order.block_sizes
    if sizes.size < 3:
        return 0
    inner, sides = sizes[1:-1], np.minimum(sizes[:-2], sizes[2:])
    return int(np.count_nonzero((inner <= LONE_ROWS) & (sides >= BLOCK_ROWS)))


def _block(order: FileOrder, best: FileOrder, identities: Mapping[str, BoolArray]) -> Block | None:
    blocks = (Block(name, best.height(rows), order.height(rows)) for name, rows in identities.items())
    return max(blocks, key=lambda block: abs(block.height - block.before), default=None)

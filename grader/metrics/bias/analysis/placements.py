"""Placements of the rows that each cell of an identity compares."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from grader.metrics.bias.prepared import BoolArray, FloatArray, IndexArray, PreparedSplit
from grader.metrics.bias.subgroups import Cell
from grader.metrics.ranks import RankArray

Rows = TypeVar("Rows")
Compared = tuple[IndexArray, IndexArray]


def by_cell(
    subgroup1: Rows, subgroup0: Rows, background1: Rows, background0: Rows
) -> dict[Cell, tuple[Rows, Rows]]:
    """Return the two compared sets of each cell, given positive (1) and negative (0) rows."""
    return {
        "subgroup_auc": (subgroup1, subgroup0),
        "bpsn_auc": (background1, subgroup0),
        "bnsp_auc": (subgroup1, background0),
        "positive_aeg": (background1, subgroup1),
        "negative_aeg": (background0, subgroup0),
    }


def compared_rows(positive: BoolArray, members: IndexArray) -> dict[Cell, Compared]:
    """Return the two compared sets of rows for each cell of an identity."""
    mentions = np.zeros(positive.size, np.bool_)
    mentions[members] = True
    subgroup1, subgroup0 = np.flatnonzero(mentions & positive), np.flatnonzero(mentions & ~positive)
    background1, background0 = np.flatnonzero(~mentions & positive), np.flatnonzero(~mentions & ~positive)
    return by_cell(subgroup1, subgroup0, background1, background0)


@dataclass(frozen=True, eq=False)
class PlacementTable:
    """Doubled placements by rank among the rows of each class.

    A doubled placement is twice the number of rows below the rank plus the number of rows at it.
    """

    ranks: RankArray
    positive: IndexArray
    negative: IndexArray

    @classmethod
    def of(cls, ranks: RankArray, positive: BoolArray) -> "PlacementTable":
        count = int(ranks.max(initial=0)) + 1
        return cls(ranks, _doubled(ranks[positive], count), _doubled(ranks[~positive], count))

    def of_identity(self, positive: IndexArray, negative: IndexArray) -> "PlacedRows":
        """Return the doubled placements of the four sets of an identity.

        The counts of a background are those of its class minus those of the subgroup.
        """
        count = self.positive.size
        subgroup1, subgroup0 = (_doubled(self.ranks[rows], count) for rows in (positive, negative))
        background1, background0 = self.positive - subgroup1, self.negative - subgroup0
        return PlacedRows(self.ranks, by_cell(subgroup1, subgroup0, background1, background0))


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """A submission's ranks, and doubled placements for the sets of each cell of an identity."""

    ranks: RankArray
    doubled: Mapping[Cell, tuple[IndexArray, IndexArray]]

    def placements(self, cell: Cell, first: IndexArray, second: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Return, for each row, the fraction of rows in the other set that rank on the correct side of it."""
        of_first, of_second = self.doubled[cell]
        below_first = of_second[self.ranks[first]] / (2 * second.size)
        return below_first, 1 - of_first[self.ranks[second]] / (2 * first.size)


def _doubled(ranks: RankArray, count: int) -> IndexArray:
    at = np.bincount(ranks, minlength=count)
    return 2 * np.cumsum(at) - at


def cell_influences(
    split: PreparedSplit, ranks: RankArray, units: Mapping[str, tuple[int, int, int, int]]
) -> Iterator[tuple[str, dict[Cell, FloatArray | None]]]:
    """Yield each identity with the compared rows and the influences on the AUCs that underlie its cells.

    `units` are the numbers of independent units in the four sets of each identity, see `Sets.units`.
    """
    standings = PlacementTable.of(ranks, split.labels)
    for name, members in zip(split.names, split.members, strict=True):
        compared = compared_rows(split.labels, members)
        placed = standings.of_identity(*compared["subgroup_auc"])
        influences: dict[Cell, FloatArray | None] = {}
        for cell, independent in by_cell(*units[name]).items():
            rows = compared[cell]
            influences[cell] = None
            if min(independent) > 1:
                placements = placed.placements(cell, *rows)
                influences[cell] = cell_influence(split.rows, rows, placements, independent)
        yield name, influences


def cell_influence(
    rows: int, compared: Compared, placements: tuple[FloatArray, FloatArray], units: tuple[int, int]
) -> FloatArray:
    """Return the influence of each row on an AUC that compares sets of at least 2 units."""
    influence = np.zeros(rows)
    for where, placed, independent in zip(compared, placements, units, strict=True):
        influence[where] = (placed - placed.mean()) / scale(where.size, independent)
    return influence


def scale(size: int, units: int) -> float:
    """Return the divisor of centered placements of a set of rows in the given number of independent units.

    With n units, the variance of the mean is the sum of the squared sums by unit, multiplied by n / (n - 1).
    """
    return math.sqrt(size * size * (units - 1) / units)

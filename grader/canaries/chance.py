"""How well a file follows the coins of the canary rows, and how often an honest file does so by chance.

The coins depend on nothing that an honest file knows, so that every choice of the rows with coin 1 is equally
likely given its predictions: the chance is counted, not estimated, and holds for any model, with ties too.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_CHANCE = 0.001


@dataclass(frozen=True, slots=True)
class Followed:
    """How well a file follows the coins.

    Attributes
    ----------
    pairs : int
        Pairs of a row with coin 1 and a row with coin 0.
    as_drawn : float
        How many of them the file orders as the coins do; a tie counts one half.
    chance : float
        The probability that an honest file orders at least so many as the coins do.
    """

    pairs: int
    as_drawn: float
    chance: float


def follow(predictions: ArrayLike, coins: NDArray[np.bool_]) -> Followed:
    """Compare a file with the coins by the rank-sum statistic (Mann and Whitney), exactly.

    Parameters
    ----------
    predictions : array of numbers, shape (n,)
        Of the canary rows, or their ranks among any rows.
    coins : array of bool, shape (n,)

    Returns
    -------
    Followed
        The chance is the upper tail of the permutation distribution, given the ties of this file.
    """
    _, places, counts = np.unique(np.asarray(predictions), return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(counts) - counts + 1)[places]  # twice the midranks: integers with ties too
    ones = int(np.count_nonzero(coins))
    total = int(doubled[coins].sum())
    tail = _tail(tuple(sorted(doubled.tolist())), ones)
    return Followed(
        pairs=ones * (len(coins) - ones),
        as_drawn=(total - ones * (ones + 1)) / 2,
        chance=float(tail[total]),
    )


def least_chance(rows: int) -> float:
    """Return the chance that an honest file follows all coins, half of which are 1.

    Parameters
    ----------
    rows : int
        How many canary rows there are.

    Returns
    -------
    float
        No chance of `follow` can be smaller.
    """
    return 1 / math.comb(rows, rows // 2)


def is_named(chance: float, files: int) -> bool:
    """Return whether a file follows the coins too well for chance, among as many files as were looked at.

    Parameters
    ----------
    chance : float
        Of `follow`.
    files : int
        How many were looked at.

    Returns
    -------
    bool
        True where the chance that any honest one among so many follows as well is at most `MOST_CHANCE`.
    """
    return chance * files <= MOST_CHANCE


@lru_cache(maxsize=64)
def _tail(doubled: tuple[int, ...], ones: int) -> NDArray[np.float64]:
    """Return by each sum how likely `ones` of the numbers, drawn at random, reach it."""
    ways = np.zeros((ones + 1, sum(doubled[len(doubled) - ones :]) + 1))
    ways[0, 0] = 1
    for each in doubled:
        ways[1:, each:] += ways[:-1, :-each].copy()
    tail: NDArray[np.float64] = ways[ones][::-1].cumsum()[::-1] / math.comb(len(doubled), ones)
    tail.flags.writeable = False
    return tail

"""Canary rows: unscored rows with secret random labels, which reveal files made from a leak.

The coins depend on nothing that an honest file contains, so that every choice of the rows with coin 1 is
equally likely given its predictions. The probability is counted, not estimated, and holds for any model, also
with ties.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEAST, PROPOSED, MOST = 20, 40, 100
IGNORED = 0
MOST_CHANCE = 0.001
__all__ = [
    "LEAST",
    "MOST",
    "PROPOSED",
    "CannotDraw",
    "Drawn",
    "Followed",
    "draw",
    "follow",
    "is_named",
    "least_chance",
]


class CannotDraw(ValueError):
    """So many canary rows cannot be had."""


@dataclass(frozen=True, eq=False, slots=True)
class Drawn:
    """Canary rows.

    Attributes
    ----------
    places : array of intp, shape (n,)
        In the order of the file.
    coins : array of bool, shape (n,)
        Half of them are true.
    labels : array of float64, shape (n,)
        What the solution is to say: a label that another row of the coin's class has.
    """

    places: NDArray[np.intp]
    coins: NDArray[np.bool_]
    labels: NDArray[np.float64]


def draw(
    labels: NDArray[np.float64],
    usage: NDArray[np.int8],
    *,
    count: int,
    threshold: float,
    from_scored: bool,
    random: Random,
) -> Drawn:
    """Draw rows, those with Usage Ignored first, and a coin for each.

    Parameters
    ----------
    labels : array of float64, shape (m,)
    usage : array of int8, shape (m,)
        0 Ignored; what else is scored.
    count : int
        `LEAST` to `MOST`, and even, so that the coins are half and half.
    threshold : float
        From here on a label is positive.
    from_scored : bool
        Whether scored rows are taken where too few are Ignored.
    random : Random
        Nobody may guess what it draws: `random.SystemRandom`, but in tests.

    Raises
    ------
    CannotDraw
        With a sentence for organizers.
    """
    if not LEAST <= count <= MOST or count % 2:
        raise CannotDraw(
            f"Ask for {LEAST} to {MOST} canary rows, an even number: fewer say too little, and half of their "
            "labels are drawn positive."
        )
    ignored, scored = np.flatnonzero(usage == IGNORED), np.flatnonzero(usage != IGNORED)
    lacking = max(0, count - ignored.size)
    if lacking and not from_scored:
        raise CannotDraw(
            f"{ignored.size:,} rows have the Usage Ignored: {lacking:,} fewer than the canary rows that you "
            "ask for. Mark more rows as Ignored, ask for fewer, or allow that scored rows become canary rows."
        )
    if lacking > scored.size // 2:
        raise CannotDraw("The solution has too few rows for so many canary rows.")
    places = random.sample(ignored.tolist(), count - lacking) + random.sample(scored.tolist(), lacking)
    by_coin = [labels[scored][(labels[scored] >= threshold) == coin].tolist() for coin in (False, True)]
    if not all(by_coin):
        raise CannotDraw("The scored rows have labels of one class only.")
    coins = [True, False] * (count // 2)
    random.shuffle(coins)
    drawn = [random.choice(by_coin[coin]) for coin in coins]
    order = np.argsort(places)
    return Drawn(
        np.array(places, np.intp)[order],
        np.array(coins, np.bool_)[order],
        np.array(drawn, np.float64)[order],
    )


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

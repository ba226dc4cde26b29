"""Canary rows: unscored rows with random labels that identify files made from a leak.

The coins are independent of the contents of an honest file. Given the predictions of such a file, every
choice of the rows with coin 1 is therefore equally likely. The probability is computed exactly and is valid
for any model, including predictions with ties.
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
    """The requested canary rows cannot be drawn."""


@dataclass(frozen=True, eq=False, slots=True)
class Drawn:
    """Canary rows.

    Attributes
    ----------
    places : array of intp, shape (n,)
        Row positions, in file order.
    coins : array of bool, shape (n,)
        The coin of each row; half of them are true.
    labels : array of float64, shape (n,)
        The labels to store in the solution. Each is the label of a random scored row in the class that the
        coin determines.
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
    """Draw canary rows, preferably with the Usage Ignored, and a coin for each.

    Parameters
    ----------
    labels : array of float64, shape (m,)
        The labels of the solution.
    usage : array of int8, shape (m,)
        0 for Ignored; rows with any other value are scored.
    count : int
        Number of canary rows: an even number from `LEAST` to `MOST`, so that half of the coins are true.
    threshold : float
        The label threshold; a label is positive if it is at least this value.
    from_scored : bool
        Whether to use scored rows if there are too few rows with the Usage Ignored.
    random : Random
        The random generator. It must be unpredictable: use `random.SystemRandom` except in tests.

    Returns
    -------
    Drawn

    Raises
    ------
    CannotDraw
        If the count is invalid or there are too few rows. The message is for organizers.
    """
    if not LEAST <= count <= MOST or count % 2:
        raise CannotDraw(
            f"The number of canary rows must be an even number from {LEAST} to {MOST}. Fewer rows would not "
            "be conclusive. Half of the rows get a positive label, so the number must be even."
        )
    ignored, scored = np.flatnonzero(usage == IGNORED), np.flatnonzero(usage != IGNORED)
    lacking = max(0, count - ignored.size)
    if lacking and not from_scored:
        raise CannotDraw(
            f"{ignored.size:,} rows have the Usage Ignored, {lacking:,} fewer than the requested number of "
            "canary rows. Mark more rows as Ignored, request fewer canary rows, or allow scored rows to "
            "become "
            "canary rows."
        )
    if lacking > scored.size // 2:
        raise CannotDraw("The solution has too few rows. Request fewer canary rows.")
    places = random.sample(ignored.tolist(), count - lacking) + random.sample(scored.tolist(), lacking)
    by_coin = [labels[scored][(labels[scored] >= threshold) == coin].tolist() for coin in (False, True)]
    if not all(by_coin):
        raise CannotDraw("All scored rows belong to one class. Canary rows require both classes.")
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
    """The agreement of a file with the coins.

    Attributes
    ----------
    pairs : int
        Number of pairs of a row with coin 1 and a row with coin 0.
    as_drawn : float
        Number of pairs that the file orders as the coins do; ties count as one half.
    chance : float
        The probability that an honest file orders at least this many pairs as the coins do.
    """

    pairs: int
    as_drawn: float
    chance: float


def follow(predictions: ArrayLike, coins: NDArray[np.bool_]) -> Followed:
    """Compare a file with the coins by an exact rank-sum test (Mann-Whitney).

    Parameters
    ----------
    predictions : array of numbers, shape (n,)
        The predictions of the canary rows, or their ranks among any set of rows.
    coins : array of bool, shape (n,)

    Returns
    -------
    Followed
        The result. The probability is the upper tail of the permutation distribution, given the file's ties.
    """
    _, places, counts = np.unique(np.asarray(predictions), return_inverse=True, return_counts=True)
    # Doubled midranks are integers even for ties.
    doubled = (2 * np.cumsum(counts) - counts + 1)[places]
    ones = int(np.count_nonzero(coins))
    total = int(doubled[coins].sum())
    tail = _tail(tuple(sorted(doubled.tolist())), ones)
    return Followed(
        pairs=ones * (len(coins) - ones),
        as_drawn=(total - ones * (ones + 1)) / 2,
        chance=float(tail[total]),
    )


def least_chance(rows: int) -> float:
    """Return the probability that an honest file follows every coin, if half of the coins are 1.

    Parameters
    ----------
    rows : int
        Number of canary rows.

    Returns
    -------
    float
        The smallest probability that `follow` can return.
    """
    return 1 / math.comb(rows, rows // 2)


def is_named(chance: float, files: int) -> bool:
    """Return whether a file follows the coins too closely to be due to chance.

    Parameters
    ----------
    chance : float
        The probability returned by `follow`.
    files : int
        Number of tested files.

    Returns
    -------
    bool
        True if the probability that any of this number of honest files follows the coins as closely is at
        most `MOST_CHANCE`.
    """
    return chance * files <= MOST_CHANCE


@lru_cache(maxsize=64)
def _tail(doubled: tuple[int, ...], ones: int) -> NDArray[np.float64]:
    """Return, for each sum, the probability that `ones` randomly drawn numbers reach this sum."""
    ways = np.zeros((ones + 1, sum(doubled[len(doubled) - ones :]) + 1))
    ways[0, 0] = 1
    for each in doubled:
        ways[1:, each:] += ways[:-1, :-each].copy()
    tail: NDArray[np.float64] = ways[ones][::-1].cumsum()[::-1] / math.comb(len(doubled), ones)
    tail.flags.writeable = False
    return tail

"""Draw canary rows and their coins: which rows, and the label that each gets."""

from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

LEAST, PROPOSED, MOST = 20, 40, 100
IGNORED = 0


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

    Returns
    -------
    Drawn

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

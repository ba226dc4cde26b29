"""Attacks on exact conditions: an AUC of exactly 0 or 1 that the label of one row ends, one row in each file.

A ladder whose error is unknown under such a condition, or far smaller, answers as an oracle of that label.
"""

import numpy as np

from grader.simulation.attackers import Attacker, Outcome, logit
from grader.simulation.competitions import BoolArray, FloatArray
from grader.simulation.oracle import Oracle

_OUT = 100.0
"""Beyond all predictions of the own model, and of each other."""
_PACE = 0.65
"""How much of the way to the own model is left after each file that was shown."""
_LEAST = 0.05
"""Below this share an account stops: too little is left to climb with."""
_SHOWN = np.array([[1.0, 1e-4], [1e-4, 1.0]])
"""How often files are shown, by the label of the row: never with a negative one, else always."""


def row_above(oracle: Oracle, attacker: Attacker, *, accounts: int = 1) -> Outcome:
    """Put an identity above all rows, and a plain row above it: its BPSN AUC is 0 or the row is positive."""
    return _one_by_one(
        oracle, attacker, _smallest(attacker, 1), attacker.plain, 1.0, accounts=accounts, told=_SHOWN
    )


def two_at_the_bottom(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Put two identities below all rows, and one row of the smaller one above them."""
    return _one_by_one(oracle, attacker, _smallest(attacker, 2), _alone(attacker), -1.0)


def nearly_perfect(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Put an identity's rows at both ends by the own model, so its AUCs are near 1, and raise one row."""
    ends = np.where(attacker.guess, 1.0, -1.0)
    return _one_by_one(oracle, attacker, _smallest(attacker, 1), _alone(attacker), ends)


def _alone(attacker: Attacker) -> BoolArray:
    """Return the rows of the smallest identity that mention no other one."""
    alone: BoolArray = _smallest(attacker, 1) & (np.sum(list(attacker.mentions.values()), axis=0) == 1)
    return alone


def _smallest(attacker: Attacker, count: int) -> BoolArray:
    """Return the rows of the smallest identities."""
    by_size = sorted(attacker.mentions.values(), key=np.count_nonzero)
    found: BoolArray = np.any(by_size[:count], axis=0)
    return found


def _one_by_one(
    oracle: Oracle,
    attacker: Attacker,
    members: BoolArray,
    target: BoolArray,
    side: FloatArray | float,
    *,
    accounts: int = 1,
    told: FloatArray | None = None,
) -> Outcome:
    """Raise one row of the target above all others in each file; one that is shown restores more of the rest.

    All files begin with the own model's order reversed. Unless it is known how likely files of each label are
    shown, every third file raises a row that the own model is sure of.
    """
    rng, turn, middle = attacker.rng, attacker.rng.random(attacker.rows), float(np.median(attacker.own))
    total = accounts * attacker.files
    sure = [np.flatnonzero(target & chosen) for chosen in (attacker.belief < 0.03, attacker.belief > 0.97)]
    aimed = attacker.hard(target, total if told is not None else total - total // 3)
    climbed, best = np.zeros(accounts, np.int64), np.full(accounts, -1)
    counts = np.ones((2, 2)) if told is None else told
    heard = np.full(aimed.size, -1)
    waiting = iter(range(aimed.size))
    for number in range(total):
        account, turn_of = number % accounts, number // accounts
        left = _PACE ** climbed[account]
        label = turn_of // 3 % 2
        is_known = told is None and turn_of % 3 == 2 and sure[label].size > 0
        place = -1 if is_known or left < _LEAST else next(waiting, -1)
        if left < _LEAST or not (is_known or place >= 0):
            continue
        row = rng.choice(sure[label]) if is_known else aimed[place]
        file = np.where(turn < 1 - left, attacker.own, 2 * middle - attacker.own)
        file[members] = (attacker.own + side * _OUT)[members]
        file[row] = middle + 3 * _OUT
        units = oracle.send(file, account).score_units
        is_news = units is not None and units > best[account]
        if units is not None and is_news:
            climbed[account], best[account] = climbed[account] + 1, units
        if is_known:
            counts[label, int(is_news)] += 1
        else:
            heard[place] = is_news
    chances = counts / counts.sum(axis=1, keepdims=True)
    odds = logit(attacker.belief[aimed])
    odds[heard >= 0] += np.log(chances[1] / chances[0])[heard[heard >= 0]]
    return Outcome.of(attacker, aimed, odds)

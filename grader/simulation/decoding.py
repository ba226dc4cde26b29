"""Reading labels from a number: each positive row of a batch adds a power of two of the same unit."""

import numpy as np

from grader.simulation.attackers import Attacker, logit
from grader.simulation.competitions import FloatArray, IndexArray

_FACTORS = np.geomspace(0.3, 3.0, 480)
_UNSURE = 0.4
"""How far off, as a logarithm, the expected unit may well be."""
_UNEVEN = 0.006
"""Of the unit: the shares of negatives below the levels are counted on all rows, public or not."""


def levels(count: int) -> FloatArray:
    """Return 1, 1/2, 1/4, ..."""
    return np.ldexp(1.0, -np.arange(count))


def odds_from(
    attacker: Attacker, batches: list[IndexArray], readings: list[float | None], *, unit: float, error: float
) -> FloatArray:
    """Return the logarithms of the odds that the rows are positive, batch after batch.

    Parameters
    ----------
    attacker : Attacker
        Its beliefs are where the odds start.
    batches : list of ndarray of int64
        The rows that were raised together, the first by the whole unit, the next by half of it, and so on.
    readings : list of float or None
        By how much the score rose; None, or no reading at all, where nothing was shown.
    unit : float
        By how much one positive row may raise it; the true unit is sought around this.
    error : float
        The standard deviation of a reading.
    """
    heard = [(rows, value) for rows, value in zip(batches, readings, strict=False) if value is not None]
    chances = -0.5 * (np.log(_FACTORS) / _UNSURE) ** 2
    for rows, value in heard:
        logs = _logs(attacker, rows, value, unit * _FACTORS, error)
        top = logs.max(axis=1)
        chances = chances + top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
    best = unit * _FACTORS[chances.argmax() : chances.argmax() + 1]
    known = {int(rows[0]): _odds(attacker, rows, value, best, error) for rows, value in heard}
    return np.concatenate(
        [known.get(int(rows[0]), logit(attacker.belief[rows])) for rows in batches if rows.size]
    )


def _odds(attacker: Attacker, rows: IndexArray, value: float, unit: FloatArray, error: float) -> FloatArray:
    belief = attacker.belief[rows]
    chances = np.exp(_logs(attacker, rows, value, unit, error)[0])
    marginal = chances @ _labels(rows.size) / chances.sum() if chances.sum() > 0 else belief
    odds: FloatArray = logit(belief) + logit(marginal) - logit(belief * attacker.public_share)
    return odds


def _logs(attacker: Attacker, rows: IndexArray, value: float, units: FloatArray, error: float) -> FloatArray:
    """Return the logarithm of how likely each labelling is with each unit; only public rows move a score."""
    prior = np.clip(attacker.belief[rows] * attacker.public_share, 1e-6, 1 - 1e-6)
    labels = _labels(rows.size)
    off = value - units[:, None] * (labels @ levels(rows.size))
    spread = (error**2 + (_UNEVEN * units) ** 2)[:, None]
    base = labels @ np.log(prior) + (1 - labels) @ np.log(1 - prior)
    # A reading that fits nothing (far off by whatever else moved) is as likely as one of five errors.
    fit: FloatArray = np.maximum(-(off**2) / (2 * spread), -12.5) - 0.5 * np.log(spread)
    return base + fit


def _labels(count: int) -> FloatArray:
    return ((np.arange(2**count)[:, None] >> np.arange(count)) & 1).astype(np.float64)

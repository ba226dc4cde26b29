"""Attackers: their knowledge, the files they write, and labels decoded from a score."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grader.feedback import Rule
from grader.simulation.competitions import BoolArray, FloatArray, IndexArray
from grader.visibility import Feedback

_FACTORS = np.geomspace(0.3, 3.0, 480)
_UNSURE = 0.4
"""How far off, as a logarithm, the expected unit may well be."""
_UNEVEN = 0.006
"""Of the unit: the shares of negatives below the levels are counted on all rows, public or not."""


@dataclass(frozen=True, eq=False)
class Attacker:
    """Public knowledge, and a model of the attacker's own.

    Attributes
    ----------
    mentions : mapping of str to ndarray of bool, shape (rows,)
        The rows that mention each identity.
    public_share : float
        The share of the rows that is public, which the page of the competition says.
    own : ndarray of float64, shape (rows,)
        What the attacker's own model predicts.
    belief : ndarray of float64, shape (rows,)
        How likely each row is positive by the own model.
    rule : Rule
        The mode and its step, which everybody may read.
    power, weight : float
        Of the metric: the exponent, and the weight of a subgroup term.
    files : int
        How many files an account may send.
    rng : numpy.random.Generator
    """

    mentions: Mapping[str, BoolArray]
    public_share: float
    own: FloatArray
    belief: FloatArray
    rule: Rule
    power: float
    weight: float
    files: int
    rng: np.random.Generator

    @property
    def rows(self) -> int:
        """How many rows a file has."""
        return self.own.size

    @property
    def error(self) -> float:
        """The error of a shown score: its rounding, or its noise."""
        if not self.rule.feedback.is_coarse:
            return 0.5e-5
        return self.rule.step_units / 100_000 * (1.0 if self.rule.feedback is Feedback.NOISED else 0.3)

    @property
    def steepness(self) -> float:
        """How far a subgroup term moves when the AUC of its lowest identity moves by one."""
        return math.exp(min(-math.log(len(self.mentions)) / self.power, 3.0)) if self.power < 0 else 1.0

    @cached_property
    def plain(self) -> BoolArray:
        """Rows that mention no identity."""
        plain: BoolArray = ~np.any(list(self.mentions.values()), axis=0)
        return plain

    @cached_property
    def guess(self) -> BoolArray:
        """What the own model says of each row."""
        return self.belief > 0.5

    @cached_property
    def low(self) -> float:
        """A prediction below all of the own model."""
        return float(self.own.min()) - 10

    @cached_property
    def high(self) -> float:
        """A prediction above all of the own model."""
        return float(self.own.max()) + 10

    def hard(self, candidates: BoolArray, count: int) -> IndexArray:
        """Return the rows of which the own model knows least."""
        rows = np.flatnonzero(candidates)
        return rows[np.argsort(np.abs(self.belief[rows] - 0.5), kind="stable")[:count]]

    def positives(self, candidates: BoolArray) -> float:
        """Return how many public rows among these are positive, as far as the own model knows."""
        return max(float(self.belief[candidates].sum()) * self.public_share, 1.0)

    def level(self, share: FloatArray, among: BoolArray) -> FloatArray:
        """Return the predictions below which these shares of the sure negatives lie."""
        sure = self.own[among & (self.belief < 0.2)]
        found: FloatArray = np.quantile(sure, np.minimum(share, 1)) + 1e-9
        return found


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of an attack.

    Attributes
    ----------
    aimed : ndarray of int64
        The target rows.
    guesses : ndarray of bool
        The guessed labels.
    best : ndarray of float64, shape (rows,)
        The file it would be ranked by.
    """

    aimed: IndexArray
    guesses: BoolArray
    best: FloatArray

    @classmethod
    def of(cls, attacker: Attacker, aimed: IndexArray, odds: FloatArray) -> "Outcome":
        """Return the outcome from logarithms of odds, with what was learnt written into the own file."""
        best = attacker.own.copy()
        learnt = odds - logit(attacker.belief[aimed])
        is_raised, is_lowered = (odds > 0) & (learnt > 1), (odds < 0) & (learnt < -1)
        best[aimed[is_raised]], best[aimed[is_lowered]] = attacker.high, attacker.low
        return cls(aimed, odds > 0, best)


def logit(probability: FloatArray) -> FloatArray:
    """Return the logarithm of the odds."""
    inside = np.clip(probability, 1e-9, 1 - 1e-9)
    return np.log(inside / (1 - inside))


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

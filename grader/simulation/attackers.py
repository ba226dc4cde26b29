"""Simulated attackers: prior knowledge, submitted files, and label decoding from scores."""

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
"""Standard deviation of the logarithm of the true unit about that of the expected unit."""
_UNEVEN = 0.006
"""Relative error of the unit, which arises because the levels are quantiles of all rows, not just public
ones."""


@dataclass(frozen=True, eq=False)
class Attacker:
    """An attacker's public knowledge and its own model.

    Attributes
    ----------
    mentions : mapping of str to ndarray of bool, shape (rows,)
        The rows that mention each identity.
    public_share : float
        The share of public rows, which the competition's page states.
    own : ndarray of float64, shape (rows,)
        The predictions of the attacker's own model.
    belief : ndarray of float64, shape (rows,)
        The probability, according to this model, that each row is positive.
    rule : Rule
        The feedback mode and its step, which are public.
    power, weight : float
        The exponent of the metric and the weight of a subgroup term.
    files : int
        The number of files that each account may send.
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
        """The number of rows in a file."""
        return self.own.size

    @property
    def error(self) -> float:
        """The error of a shown score, due to rounding or noise."""
        if not self.rule.feedback.is_coarse:
            return 0.5e-5
        return self.rule.step_units / 100_000 * (1.0 if self.rule.feedback is Feedback.NOISED else 0.3)

    @property
    def steepness(self) -> float:
        """The change in a subgroup term if the AUC of its lowest identity changes by one."""
        return math.exp(min(-math.log(len(self.mentions)) / self.power, 3.0)) if self.power < 0 else 1.0

    @cached_property
    def plain(self) -> BoolArray:
        """The rows that mention no identity."""
        plain: BoolArray = ~np.any(list(self.mentions.values()), axis=0)
        return plain

    @cached_property
    def guess(self) -> BoolArray:
        """The labels that the attacker's own model predicts."""
        return self.belief > 0.5

    @cached_property
    def low(self) -> float:
        """A value below all predictions of the attacker's own model."""
        return float(self.own.min()) - 10

    @cached_property
    def high(self) -> float:
        """A value above all predictions of the attacker's own model."""
        return float(self.own.max()) + 10

    def hard(self, candidates: BoolArray, count: int) -> IndexArray:
        """Return the candidates for which the attacker's own model is least certain."""
        rows = np.flatnonzero(candidates)
        return rows[np.argsort(np.abs(self.belief[rows] - 0.5), kind="stable")[:count]]

    def positives(self, candidates: BoolArray) -> float:
        """Return the expected number of positive public rows among the candidates."""
        return max(float(self.belief[candidates].sum()) * self.public_share, 1.0)

    def level(self, share: FloatArray, among: BoolArray) -> FloatArray:
        """Return the quantiles of the predictions for the almost certain negatives at these shares."""
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
        The guessed labels of the target rows.
    best : ndarray of float64, shape (rows,)
        The file with which the attacker would compete.
    """

    aimed: IndexArray
    guesses: BoolArray
    best: FloatArray

    @classmethod
    def of(cls, attacker: Attacker, aimed: IndexArray, odds: FloatArray) -> "Outcome":
        """Return the outcome for the log odds of the target rows, applying them to the attacker's file."""
        best = attacker.own.copy()
        learnt = odds - logit(attacker.belief[aimed])
        is_raised, is_lowered = (odds > 0) & (learnt > 1), (odds < 0) & (learnt < -1)
        best[aimed[is_raised]], best[aimed[is_lowered]] = attacker.high, attacker.low
        return cls(aimed, odds > 0, best)


def logit(probability: FloatArray) -> FloatArray:
    """Return the log odds of a probability."""
    inside = np.clip(probability, 1e-9, 1 - 1e-9)
    return np.log(inside / (1 - inside))


def levels(count: int) -> FloatArray:
    """Return the sequence 1, 1/2, 1/4, ..."""
    return np.ldexp(1.0, -np.arange(count))


def odds_from(
    attacker: Attacker, batches: list[IndexArray], readings: list[float | None], *, unit: float, error: float
) -> FloatArray:
    """Return the log odds that the rows are positive, in the order of the batches.

    Parameters
    ----------
    attacker : Attacker
        The attacker, whose beliefs are the prior odds.
    batches : list of ndarray of int64
        Rows that were raised together: the first by a full unit, the second by half a unit, and so on.
    readings : list of float or None
        The increases of the score. An entry is None or missing if no score was shown.
    unit : float
        The expected increase for one positive row. The true unit is estimated around this value.
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
    """Return the log likelihood of each labeling and unit; only public rows affect a score."""
    prior = np.clip(attacker.belief[rows] * attacker.public_share, 1e-6, 1 - 1e-6)
    labels = _labels(rows.size)
    off = value - units[:, None] * (labels @ levels(rows.size))
    spread = (error**2 + (_UNEVEN * units) ** 2)[:, None]
    base = labels @ np.log(prior) + (1 - labels) @ np.log(1 - prior)
    # Outliers have other causes, so they are treated as deviations of at most five standard deviations.
    fit: FloatArray = np.maximum(-(off**2) / (2 * spread), -12.5) - 0.5 * np.log(spread)
    return base + fit


def _labels(count: int) -> FloatArray:
    return ((np.arange(2**count)[:, None] >> np.arange(count)) & 1).astype(np.float64)

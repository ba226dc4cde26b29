"""An attacker: what it knows, what it brings home, and how it writes what it learnt into a file."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grader.feedback import Rule
from grader.simulation.competitions import BoolArray, FloatArray, IndexArray
from grader.visibility import Feedback


@dataclass(frozen=True, eq=False)
class Attacker:
    """What everybody can know, and a model of one's own.

    Attributes
    ----------
    mentions : mapping of str to ndarray of bool, shape (rows,)
        Who mentions whom.
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
    """What an attack brought home.

    Attributes
    ----------
    aimed : ndarray of int64
        The rows whose labels it wanted.
    guesses : ndarray of bool
        What it says of them.
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

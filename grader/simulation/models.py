"""Honest models: predictions of a set quality, whose true score is known, and teams that try to improve."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grader.simulation.competitions import Competition, FloatArray

_SIGNAL = 2.2
_SHARED = 0.7
"""The part of a model's variance that all models have in common: rows that are hard for everybody."""
_IDENTITY_SHIFT = 0.35
_GRID = np.geomspace(0.05, 4.0, 9)
_DRAWS = 4
_KEPT = 0.95
"""The correlation of what is a model's own with what it was in the team's file before."""


@dataclass(frozen=True, eq=False)
class Model:
    """A model: the lower its own variance, the better it is."""

    variance: float
    own: FloatArray


@dataclass(frozen=True, eq=False)
class Honest:
    """What honest models of one competition predict."""

    competition: Competition
    seed: int

    def model(self, rng: np.random.Generator, variance: float) -> Model:
        """Return a model that is independent of all others, but for the rows that are hard for all."""
        return Model(variance, rng.normal(size=self.competition.rows))

    def predictions(self, model: Model) -> FloatArray:
        """Return what a model predicts for all rows."""
        return self._sure + self._hard + math.sqrt(model.variance) * model.own

    def belief(self, model: Model) -> FloatArray:
        """Return how likely each row is positive, as far as its team can know."""
        variance = _SHARED + model.variance
        seen = self.predictions(model) - self._shift
        base = self._base_rates
        return 1 / (1 + (1 - base) / base * np.exp(-(_SIGNAL * seen - _SIGNAL**2 / 2) / variance))

    def truth(self, variance: float) -> float:
        """Return the score that models of this variance have on average, over all rows."""
        return float(np.polyval(self._curve, np.sqrt(variance)))

    def progress(self, rng: np.random.Generator, files: int) -> Iterator[Model]:
        """Yield the files of a team: a third of the tries are better, a third worse, a third as good."""
        best = self.model(rng, float(np.exp(rng.uniform(np.log(0.3), np.log(2.5)))))
        yield best
        for _ in range(files - 1):
            own = _KEPT * best.own + np.sqrt(1 - _KEPT**2) * rng.normal(size=best.own.size)
            kind = rng.integers(3)
            factor = (rng.uniform(0.75, 1.0), rng.uniform(1.0, 1.3), 1.0)[kind]
            tried = Model(max(best.variance * factor, 0.06), own)
            yield tried
            if tried.variance < best.variance:
                best = tried

    @cached_property
    def _hard(self) -> FloatArray:
        rng = np.random.default_rng([13, self.seed])
        return float(np.sqrt(_SHARED)) * rng.normal(size=self.competition.rows)

    @cached_property
    def _shift(self) -> FloatArray:
        """All rows of an identity lie a little higher than others: the bias that the metric measures."""
        shift = np.zeros(self.competition.rows)
        for place, mentioned in enumerate(self.competition.mentions.values()):
            shift += mentioned * _IDENTITY_SHIFT * (1 + place % 3) / 2
        return shift

    @cached_property
    def _sure(self) -> FloatArray:
        return _SIGNAL * self.competition.labels + self._shift

    @cached_property
    def _base_rates(self) -> FloatArray:
        labels = self.competition.labels
        rates = np.full(labels.size, labels.mean())
        for mentioned in self.competition.mentions.values():
            rates[mentioned] = labels[mentioned].mean()
        clipped: FloatArray = np.clip(rates, 0.001, 0.999)
        return clipped

    @cached_property
    def _curve(self) -> FloatArray:
        """The true score by the root of the variance: a cubic through models drawn on all rows."""
        rng = np.random.default_rng([14, self.seed])
        everything = Competition(
            self.competition.labels,
            self.competition.mentions,
            np.ones(self.competition.rows, np.bool_),
            b"",
            self.competition.settings,
        )
        roots = np.repeat(np.sqrt(_GRID), _DRAWS)
        scores = []
        for root in roots:
            noise = np.sqrt(_SHARED + root**2) * rng.normal(size=self.competition.rows)
            scores.append(everything.score(self._sure + noise, with_basis=False).file.score)
        curve: FloatArray = np.polyfit(roots, scores, 3)
        return curve

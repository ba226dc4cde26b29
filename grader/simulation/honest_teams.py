"""Honest models of known quality, and the progress that honest teams see in each mode."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grader.feedback import Rule, ScoredFile, paired_error, show
from grader.simulation.competitions import Competition, FloatArray

_SIGNAL = 2.2
_SHARED = 0.7
"""The variance that all models have in common: some rows are difficult for all of them."""
_IDENTITY_SHIFT = 0.35
_GRID = np.geomspace(0.05, 4.0, 9)
_DRAWS = 4
_KEPT = 0.95
"""The correlation between the individual noise of a model and that of the team's best model so far."""
TEAMS = 50
_FEWEST, _MOST = 8, 30
_BEYOND = 2.0


@dataclass(frozen=True, eq=False)
class Model:
    """A model; the lower the variance of its individual noise, the better it is."""

    variance: float
    own: FloatArray


@dataclass(frozen=True, eq=False)
class Honest:
    """The predictions of honest models in one competition."""

    competition: Competition
    seed: int

    def model(self, rng: np.random.Generator, variance: float) -> Model:
        """Return a model whose individual noise is independent of all other models."""
        return Model(variance, rng.normal(size=self.competition.rows))

    def predictions(self, model: Model) -> FloatArray:
        """Return a model's predictions for all rows."""
        return self._sure + self._hard + math.sqrt(model.variance) * model.own

    def belief(self, model: Model) -> FloatArray:
        """Return the probability that each row is positive, given the team's knowledge."""
        variance = _SHARED + model.variance
        seen = self.predictions(model) - self._shift
        base = self._base_rates
        return 1 / (1 + (1 - base) / base * np.exp(-(_SIGNAL * seen - _SIGNAL**2 / 2) / variance))

    def truth(self, variance: float) -> float:
        """Return the mean score of models with this variance on all rows."""
        return float(np.polyval(self._curve, np.sqrt(variance)))

    def progress(self, rng: np.random.Generator, files: int) -> Iterator[Model]:
        """Yield a team's models: compared with the best so far, a third are better and a third worse."""
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
        """Small increases of each identity's predictions: the bias that the metric measures."""
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
        """The true score as a function of the root of the variance: a cubic fitted to simulated models."""
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


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of an honest team, with the true score of its model."""

    truth: float
    file: ScoredFile


@dataclass(frozen=True, slots=True)
class Seen:
    """The improvements that the honest teams in one competition see in a feedback mode.

    Attributes
    ----------
    improvements, seen : int
        Files that are truly better than all earlier files of the team, and those shown as a new best.
    clear, clear_seen : int
        The same counts for improvements of more than two standard errors of the paired difference.
    others, false : int
        Files that are not truly better, and those shown as a new best.
    correlation : float
        The rank correlation between the teams' best shown scores and the true scores of their best models.
    """

    improvements: int
    seen: int
    clear: int
    clear_seen: int
    others: int
    false: int
    correlation: float


def teams(competition: Competition, honest: Honest, *, count: int, seed: int) -> list[list[Entry]]:
    """Generate teams of different strengths, each with 8 to 30 files."""
    rng = np.random.default_rng([16, seed])
    return [
        [
            Entry(honest.truth(model.variance), competition.score(honest.predictions(model)).file)
            for model in honest.progress(rng, int(rng.integers(_FEWEST, _MOST + 1)))
        ]
        for _ in range(count)
    ]


def seen(entries: Sequence[Sequence[Entry]], rule: Rule) -> Seen:
    """Count the improvements that teams see under a rule."""
    counts: Counter[str | tuple[str, bool]] = Counter()
    board, worth = [], []
    for files in entries:
        shown = show([entry.file for entry in files], rule)
        most, best = -1 if shown[0] is None else shown[0], files[0]
        for entry, units in zip(files[1:], shown[1:], strict=True):
            is_news = units is not None and units > most
            most = max(most, -1 if units is None else units)
            kind = "improvements" if entry.truth > best.truth else "others"
            counts[kind] += 1
            counts[kind, is_news] += 1
            if kind == "improvements":
                if _is_clear(entry, best):
                    counts["clear"] += 1
                    counts["clear", is_news] += 1
                best = entry
        board.append(most)
        worth.append(best.truth)
    return Seen(
        improvements=counts["improvements"],
        seen=counts["improvements", True],
        clear=counts["clear"],
        clear_seen=counts["clear", True],
        others=counts["others"],
        false=counts["others", True],
        correlation=rank_correlation(board, worth),
    )


def _is_clear(entry: Entry, best: Entry) -> bool:
    if entry.file.basis is None or best.file.basis is None:
        return False
    error = paired_error(entry.file.basis, best.file.basis)
    return error is not None and entry.truth - best.truth > _BEYOND * error


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's correlation; ties share a rank, and constants have a correlation of 0."""
    ranks = [_middle_ranks(np.asarray(values, np.float64)) for values in (one, other)]
    centered = [each - each.mean() for each in ranks]
    size = float(np.sqrt((centered[0] ** 2).sum() * (centered[1] ** 2).sum()))
    return float(centered[0] @ centered[1]) / size if size else 0.0


def _middle_ranks(values: FloatArray) -> FloatArray:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: FloatArray = (ends - (counts - 1) / 2)[places]
    return ranks

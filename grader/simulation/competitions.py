"""A competition to try feedback on: its rows, labels, identities and split, drawn or an organizer's own."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grader.feedback import ScoredFile, basis_of
from grader.metrics import (
    BiasReport,
    MetricSettings,
    PreparedSplit,
    count_ranks,
    dense_ranks,
    prepare,
    report,
)
from grader.metrics.analysis.uncertainty.influence import Sets
from grader.metrics.analysis.uncertainty.label_effects import label_effects

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.int64]

ROWS = 20_000
_SETTINGS = MetricSettings(undefined="skip")
PUBLIC_SHARE = 0.5
_POSITIVE_SHARE = 0.07
_FEWEST = 60
# Rows of each identity among 20,000, and the share of them that is positive.
_IDENTITIES = {
    "bisexual": (83, 0.205),
    "atheist": (140, 0.16),
    "buddhist": (230, 0.14),
    "jewish": (290, 0.17),
    "black": (350, 0.189),
    "muslim": (430, 0.18),
    "christian": (560, 0.10),
    "male": (700, 0.15),
    "female": (866, 0.14),
}


@dataclass(frozen=True, slots=True)
class Scored:
    """One file of a team with all that the competition knows of it."""

    report: BiasReport
    file: ScoredFile


@dataclass(frozen=True, eq=False)
class Competition:
    """What is hidden, and what everybody knows.

    Attributes
    ----------
    labels : ndarray of bool, shape (rows,)
    mentions : mapping of str to ndarray of bool, shape (rows,)
        For each identity, the rows that mention it: everybody knows them.
    public : ndarray of bool, shape (rows,)
        Which rows count on the public leaderboard.
    key : bytes
        The secret of the noise and the sketches.
    settings : MetricSettings
    """

    labels: BoolArray
    mentions: Mapping[str, BoolArray]
    public: BoolArray
    key: bytes
    settings: MetricSettings = _SETTINGS

    @property
    def rows(self) -> int:
        """How many rows there are, public and private ones together."""
        return self.labels.size

    @cached_property
    def _sets(self) -> Sets:
        mentions = {name: rows[self.public] for name, rows in self.mentions.items()}
        return Sets(prepare(self.labels[self.public], mentions, settings=self.settings))

    @property
    def split(self) -> PreparedSplit:
        """The public split, as a grader prepares it."""
        return self._sets.split

    def score(self, predictions: FloatArray, *, with_basis: bool = True) -> Scored:
        """Score a file as the worker does; raises ValueError where the score is undefined."""
        ranks = dense_ranks(predictions)
        of_public = ranks[self.public]
        found = report(count_ranks(self._sets.ranked, of_public), self.settings)
        if found.score is None:
            raise ValueError("The public split is too small for a score.")
        basis = None
        if with_basis:
            effects = label_effects(self._sets, of_public, found, self.settings)
            basis = basis_of(ranks, effects, key=self.key)
        return Scored(found, ScoredFile(found.score, basis))


def drawn(seed: int, rows: int = ROWS) -> Competition:
    """Draw a competition: rows, labels, nine identities with 0.4 to 4.3 % of the rows each, and a split."""
    rng = np.random.default_rng([12, seed])
    mentions = {name: np.zeros(rows, np.bool_) for name in _IDENTITIES}
    labels = rng.random(rows) < _POSITIVE_SHARE
    for name, (size, share) in _IDENTITIES.items():
        count = max(round(size * rows / ROWS), _FEWEST)
        members = rng.choice(rows, count, replace=False)
        mentions[name][members] = True
        labels[members] = rng.permutation(count) < max(round(share * count), _FEWEST // 5)
    public = rng.random(rows) < PUBLIC_SHARE
    return Competition(labels, mentions, public, key=rng.bytes(32))

"""Simulated competitions and their responses to submitted files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from grader.feedback import Ladder, Rule, ScoredFile, basis_of, show
from grader.metrics import (
    BIAS_AUCS,
    BiasReport,
    MetricSettings,
    PreparedSplit,
    count_ranks,
    dense_ranks,
    prepare,
    report,
)
from grader.metrics.analysis.influence import Sets
from grader.metrics.analysis.label_effects import label_effects
from grader.ranking.order import CELL_DECIMALS, TERM_DECIMALS, round_half_even
from grader.visibility import Feedback, Field, Phase, Viewer, visible

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.int64]

ROWS = 20_000
_SETTINGS = MetricSettings(undefined="skip")
PUBLIC_SHARE = 0.5
_POSITIVE_SHARE = 0.07
_FEWEST = 60
# The number of rows of each identity per 20,000 rows, and the share of positive rows among them.
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
Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """A scored file: the full report and the data for the feedback mode."""

    report: BiasReport
    file: ScoredFile


@dataclass(frozen=True, eq=False)
class Competition:
    """The hidden and public data of a simulated competition.

    Attributes
    ----------
    labels : ndarray of bool, shape (rows,)
    mentions : mapping of str to ndarray of bool, shape (rows,)
        The rows that mention each identity. They are public knowledge.
    public : ndarray of bool, shape (rows,)
        The rows of the public split.
    key : bytes
        The secret key of the noise and the sketches.
    settings : MetricSettings
    """

    labels: BoolArray
    mentions: Mapping[str, BoolArray]
    public: BoolArray
    key: bytes
    settings: MetricSettings = _SETTINGS

    @property
    def rows(self) -> int:
        """The number of all rows, public and private."""
        return self.labels.size

    @cached_property
    def _sets(self) -> Sets:
        mentions = {name: rows[self.public] for name, rows in self.mentions.items()}
        return Sets(prepare(self.labels[self.public], mentions, settings=self.settings))

    @property
    def split(self) -> PreparedSplit:
        """The prepared public split."""
        return self._sets.split

    def score(self, predictions: FloatArray, *, with_basis: bool = True) -> Scored:
        """Score a file as a worker does; raise ValueError if the score is undefined."""
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
    """Generate a random competition with nine identities, each mentioned in 0.4 to 4.3 % of the rows."""
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


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to one file.

    Attributes
    ----------
    score_units : int or None
        The shown public score in units of 0.00001, or None if no score is shown.
    terms : tuple of str, or None
        The four terms as displayed: the overall AUC and the means of the Subgroup, BPSN and BNSP AUCs.
    table : mapping of str to tuple of str, or None
        The Subgroup, BPSN and BNSP AUC of each identity as displayed.
    rank : int or None
        The account's rank among the accounts of this oracle.
    """

    score_units: int | None
    terms: Row | None = None
    table: Mapping[str, Row] | None = None
    rank: int | None = None

    @property
    def score(self) -> float | None:
        """The shown score."""
        return None if self.score_units is None else self.score_units / 100_000


class Oracle(Protocol):
    """The interface that scores files; it is an attacker's only source of information."""

    @property
    def rule(self) -> Rule: ...

    def send(self, predictions: FloatArray, account: int = 0) -> Answer: ...


@dataclass
class MemoryOracle:
    """A competition in memory with the same rules as a site."""

    competition: Competition
    rule: Rule
    _ladders: dict[int, Ladder] = field(default_factory=dict)
    _best: dict[int, int] = field(default_factory=dict)

    def send(self, predictions: FloatArray, account: int = 0) -> Answer:
        """Score a file and return the part of the result that the account's team may see."""
        needs_basis = self.rule.feedback in (Feedback.LADDER, Feedback.NOISED)
        scored = self.competition.score(predictions, with_basis=needs_basis)
        units = self._shown(scored.file, account)
        if units is not None and units > self._best.get(account, -1):
            self._best.pop(account, None)  # preserves the order in which equal scores were reached
            self._best[account] = units
        return Answer(
            units,
            _terms(scored) if self._sees(Field.PUBLIC_TERMS) else None,
            _table(scored) if self._sees(Field.PUBLIC_IDENTITIES) else None,
            self._rank(account) if self._sees(Field.PUBLIC_RANK) else None,
        )

    @property
    def best_shown(self) -> int | None:
        """The best score shown to any account."""
        return max(self._best.values(), default=None)

    def _shown(self, file: ScoredFile, account: int) -> int | None:
        if self.rule.feedback is Feedback.LADDER:
            return self._ladders.setdefault(account, Ladder(self.rule.step_units)).show(file)
        return show([file], self.rule)[0]

    def _sees(self, fact: Field) -> bool:
        return visible(fact, Viewer.TEAM, Phase.OPEN, self.rule.feedback)

    def _rank(self, account: int) -> int | None:
        if account not in self._best:
            return None
        order = sorted(self._best, key=lambda each: -self._best[each])
        return order.index(account) + 1


def _terms(scored: Scored) -> Row:
    return tuple(_displayed(value, TERM_DECIMALS) for value in scored.report.terms.values())


def _table(scored: Scored) -> dict[str, Row]:
    return {
        line.name: tuple(_displayed(getattr(line, cell), CELL_DECIMALS) for cell in BIAS_AUCS)
        for line in scored.report.subgroups
    }


def _displayed(value: float | None, decimals: int) -> str | None:
    return None if value is None else str(round_half_even(value, decimals))

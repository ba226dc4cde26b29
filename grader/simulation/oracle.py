"""What a participant sees of a file: asked by attackers, answered in memory here, or by a site over HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from grader.feedback import Ladder, Rule, ScoredFile, show
from grader.metrics import BIAS_AUCS
from grader.ranking.order import CELL_DECIMALS, TERM_DECIMALS, round_half_even
from grader.simulation.competitions import Competition, FloatArray, Scored
from grader.visibility import Feedback, Field, Phase, Viewer, visible

Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one file brought.

    Attributes
    ----------
    score_units : int or None
        The shown public score in units of 0.00001; None where nothing is shown.
    terms : tuple of str, or None
        The four terms as displayed: overall AUC, then the means of subgroup, BPSN and BNSP AUC.
    table : mapping of str to tuple of str, or None
        For each identity its subgroup, BPSN and BNSP AUC as displayed.
    rank : int or None
        The account's place among the accounts of this oracle.
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
    """Whoever answers a file; the only thing that an attacker may ask."""

    @property
    def rule(self) -> Rule: ...

    def send(self, predictions: FloatArray, account: int = 0) -> Answer: ...


@dataclass
class MemoryOracle:
    """A competition that answers in memory, by the same rules as a site."""

    competition: Competition
    rule: Rule
    _ladders: dict[int, Ladder] = field(default_factory=dict)
    _best: dict[int, int] = field(default_factory=dict)

    def send(self, predictions: FloatArray, account: int = 0) -> Answer:
        """Score a file of an account and return what the account's team sees of it."""
        needs_basis = self.rule.feedback in (Feedback.LADDER, Feedback.NOISED)
        scored = self.competition.score(predictions, with_basis=needs_basis)
        units = self._shown(scored.file, account)
        if units is not None and units > self._best.get(account, -1):
            self._best.pop(account, None)  # what was reached later is ranked behind what is equal
            self._best[account] = units
        return Answer(
            units,
            _terms(scored) if self._sees(Field.PUBLIC_TERMS) else None,
            _table(scored) if self._sees(Field.PUBLIC_IDENTITIES) else None,
            self._rank(account) if self._sees(Field.PUBLIC_RANK) else None,
        )

    @property
    def best_shown(self) -> int | None:
        """The best that any account was shown."""
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

"""Data types for clients' observations and the checker's findings."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

LOST, DOUBLED, WRONG, STUCK = "lost", "doubled", "wrong", "stuck"


@dataclass(frozen=True, slots=True)
class BoardLine:
    """A leaderboard row as read by a client."""

    rank: int
    team: str
    score: str


@dataclass(frozen=True, slots=True)
class BoardRead:
    """A page of a public leaderboard as returned by the API."""

    competition: str
    scoring_version: int
    lines: tuple[BoardLine, ...]


@dataclass(frozen=True, slots=True)
class History:
    """Observations of the clients, with files identified by their sha256.

    `acknowledged` maps the submission id in each successful response to its file. Files in `unhealthy` may
    end as rejected or failed. `texts` are responses sent to participants before the reveal, and logs.
    """

    acknowledged: Mapping[int, str] = field(default_factory=dict)
    unanswered: Collection[str] = ()
    refused: Collection[str] = ()
    unhealthy: Collection[str] = ()
    board_reads: Sequence[BoardRead] = ()
    texts: Iterable[str] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated invariant."""

    invariant: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.invariant} ({self.kind}): {self.text}"


@dataclass
class Findings:
    """The checker's violations, and the number of checks per invariant."""

    violations: list[Violation] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)

    def expect(self, holds: object, invariant: str, kind: str, text: str) -> bool:
        self.checked[invariant] += 1
        if not holds:
            self.violations.append(Violation(invariant, kind, text))
        return bool(holds)

    def count(self, kind: str) -> int:
        return sum(violation.kind == kind for violation in self.violations)

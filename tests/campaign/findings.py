"""What clients saw, and what the checker finds."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

INVARIANTS = ("I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8")
LOST, DOUBLED, WRONG, STUCK = "lost", "doubled", "wrong", "stuck"


@dataclass(frozen=True, slots=True)
class BoardLine:
    """A line of a leaderboard as somebody read it."""

    rank: int
    team: str
    score: str


@dataclass(frozen=True, slots=True)
class BoardRead:
    """A page of a public leaderboard as the API gave it."""

    competition: str
    scoring_version: int
    lines: tuple[BoardLine, ...]


@dataclass(frozen=True, slots=True)
class History:
    """What clients saw. Files are named by their sha256; one of `unhealthy` may end rejected or failed.

    `acknowledged` has the submission's id for each file that was answered with one. `texts` are answers that
    participants got before the reveal, and logs.
    """

    acknowledged: Mapping[int, str] = field(default_factory=dict)
    unanswered: Collection[str] = ()
    refused: Collection[str] = ()
    unhealthy: Collection[str] = ()
    board_reads: Sequence[BoardRead] = ()
    texts: Iterable[str] = ()

    def with_texts(self, texts: Iterable[str]) -> "History":
        """Return the same history with further answers or logs."""
        return replace(self, texts=[*self.texts, *texts])


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must not be."""

    invariant: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.invariant} ({self.kind}): {self.text}"


@dataclass
class Findings:
    """What the checker found, and how many things it looked at, by invariant."""

    violations: list[Violation] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)

    def expect(self, holds: object, invariant: str, kind: str, text: str) -> bool:
        self.checked[invariant] += 1
        if not holds:
            self.violations.append(Violation(invariant, kind, text))
        return bool(holds)

    def count(self, kind: str) -> int:
        return sum(violation.kind == kind for violation in self.violations)

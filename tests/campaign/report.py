"""What a campaign did and found, as it is printed."""

from collections import Counter
from dataclasses import dataclass

from tests.campaign.findings import DOUBLED, INVARIANTS, LOST, STUCK, WRONG, Findings
from tests.campaign.ledger import Ledger
from tests.campaign.plan import Plan

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a campaign."""

    plan: Plan
    ledger: Ledger
    findings: Findings
    seconds: float
    settled_after: float | None
    longest_wait: float
    unanswered: int
    log_lines: Counter[str]

    @property
    def is_green(self) -> bool:
        """Whether every promise was kept."""
        return not self.findings.violations and not self.ledger.surprises

    def text(self) -> str:
        """Return the report as lines."""
        ledger, found = self.ledger, self.findings
        settled = "not in time" if self.settled_after is None else f"{self.settled_after:.1f} s"
        lines = [
            f"Fault campaign: seed {self.plan.seed}, {self.plan.database}, {self.seconds:.0f} s, "
            f"{self.plan.rows:,} rows a file, lease {self.plan.lease_seconds} s",
            f"uploads acknowledged        {len(ledger.acknowledged):,}",
            f"uploads without an answer   {self.unanswered:,}",
            f"uploads refused             {len(ledger.refused):,}",
            f"faulty files among them     {len(ledger.faulty):,}",
            f"boards read                 {len(ledger.board_reads):,}",
            f"answers                     {_counted(ledger.answers)}",
            f"faults injected             {sum(ledger.faults.values()):,}",
            *(f"  {name:32}{number:,}" for name, number in sorted(ledger.faults.items())),
            f"the organizer's deeds       {_counted(ledger.deeds)}",
            f"lost                        {found.count(LOST):,}",
            f"doubled                     {found.count(DOUBLED):,}",
            f"wrong                       {found.count(WRONG) + len(ledger.surprises):,}",
            f"stuck                       {found.count(STUCK):,}",
            f"longest to a terminal state {self.longest_wait:.1f} s",
            f"all terminal                {settled} after the last fault",
            "invariants checked          "
            + ", ".join(f"{name} {found.checked[name]:,}" for name in INVARIANTS),
            f"errors in the logs          {_counted(self.log_lines)}",
            *(f"VIOLATION {violation}" for violation in found.violations[:SHOWN]),
            *(f"SURPRISE {text}" for text in ledger.surprises[:SHOWN]),
            "green" if self.is_green else "RED",
        ]
        return "\n".join(lines)


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name}: {number:,}" for name, number in sorted(counter.items())) or "none"

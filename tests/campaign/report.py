"""Printed campaign report."""

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
        """Whether all invariants hold and nothing unexpected happened."""
        return not self.findings.violations and not self.ledger.surprises

    def text(self) -> str:
        """Return the report as lines."""
        ledger, found = self.ledger, self.findings
        settled = "not in time" if self.settled_after is None else f"{self.settled_after:.1f} s"
        lines = [
            f"Fault campaign: seed {self.plan.seed}, {self.plan.database}, {self.seconds:.0f} s, "
            f"{self.plan.rows:,} rows per file, lease {self.plan.lease_seconds} s",
            f"uploads acknowledged        {len(ledger.acknowledged):,}",
            f"uploads without a response  {self.unanswered:,}",
            f"uploads rejected            {len(ledger.refused):,}",
            f"faulty files among them     {len(ledger.faulty):,}",
            f"leaderboards read           {len(ledger.board_reads):,}",
            f"responses                   {_counted(ledger.answers)}",
            f"faults injected             {sum(ledger.faults.values()):,}",
            *(f"  {name:32}{number:,}" for name, number in sorted(ledger.faults.items())),
            f"organizer actions           {_counted(ledger.deeds)}",
            f"lost                        {found.count(LOST):,}",
            f"doubled                     {found.count(DOUBLED):,}",
            f"wrong                       {found.count(WRONG) + len(ledger.surprises):,}",
            f"stuck                       {found.count(STUCK):,}",
            f"longest time to a result    {self.longest_wait:.1f} s",
            f"all jobs ended              {settled} after the last fault",
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

"""Fault-injection tests: plan, run and report."""

import signal
import threading
import time
from collections import Counter

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from grader.models import ScoringJob, SubmissionStatus
from grader.services.site import leased_rows
from tests.campaign.adversary import Adversary
from tests.campaign.clients import Client, Organizer
from tests.campaign.installation import Installation
from tests.campaign.plan import CLIENTS, Plan
from tests.campaign.scene import Ledger, Scene
from tests.fixtures.databases import OwnPostgresql
from tests.fixtures.service import write_solution
from tests.invariants.checker import Checker
from tests.invariants.findings import DOUBLED, LOST, STUCK, WRONG, Findings
from tests.invariants.oracle import Oracle

# A campaign that waits for its uploads gives up after this multiple of its duration.
LONGEST_FACTOR = 4


class Campaign:
    """An installation with its clients, its organizer and its adversary."""

    def __init__(self, plan: Plan, installation: Installation, server: OwnPostgresql | None):
        self._plan = plan
        self._installation = installation
        self._server = server
        self._ledger = Ledger()
        self._truce = threading.Event()
        self._end = threading.Event()
        self._findings = Findings()
        self._settled_after: float | None = None

    def run(self):
        """Run all actors, wait until all jobs are finished, and check; SIGTERM stops the actors early."""
        signal.signal(signal.SIGTERM, lambda *_: self._truce.set())
        installation = self._installation
        scene = Scene(installation, self._ledger, self._truce)
        tokens = installation.fill(write_solution(self._plan.rows))
        installation.start()
        keeper = threading.Thread(target=self._keep_serving, daemon=True)
        adversary = Adversary(scene, self._server)
        clients = [Client(scene, number, tokens) for number in range(CLIENTS)]
        actors = [*clients, Organizer(scene), adversary]
        for thread in (keeper, *actors):
            thread.start()
        self._let_act()
        self._truce.set()
        adversary.join()
        self._settle(actors, adversary.last_fault_at)
        self._end.set()
        keeper.join()
        installation.stop()
        self._check()

    def _let_act(self):
        start = time.monotonic()
        while not self._truce.wait(0.1):
            passed = time.monotonic() - start
            is_enough = len(self._ledger.acknowledged) >= self._plan.uploads
            if passed >= self._plan.seconds and (is_enough or passed > LONGEST_FACTOR * self._plan.seconds):
                return

    def _keep_serving(self):
        """Restart the service after it was killed, as an init system does."""
        while not self._end.wait(0.5):
            self._installation.restart()

    def _settle(self, actors: list[threading.Thread], last_fault_at: float):
        """Wait until all actors and jobs have finished, and record the time that it took."""
        while (passed := time.monotonic() - last_fault_at) < self._plan.patience_seconds:
            if not any(actor.is_alive() for actor in actors) and not self._open_jobs():
                self._settled_after = passed
                return
            time.sleep(0.2)

    def _open_jobs(self) -> int:
        try:
            with self._installation.database.read() as session:
                is_open = ScoringJob.state.in_(leased_rows.OPEN_STATES)
                return session.scalar(select(func.count()).where(is_open).select_from(ScoringJob)) or 0
        except SQLAlchemyError:
            return -1

    def _check(self):
        storage = self._installation.storage
        history = self._ledger.history(self._installation.log.read_text(errors="replace"))
        checker = Checker(self._installation.database, storage, history, Oracle(storage.read), self._findings)
        checker.run()
        for submission in checker.rows.submissions.values():
            if submission.sha256 in self._ledger.faulty:
                is_rejected = submission.status is SubmissionStatus.REJECTED
                kind = STUCK if submission.status is SubmissionStatus.PENDING else WRONG
                text = f"The faulty submission {submission.id} is {submission.status}."
                self._findings.expect(is_rejected, "I3", kind, text)

    @property
    def is_green(self) -> bool:
        """Whether all invariants hold and nothing unexpected happened."""
        return not self._findings.violations and not self._ledger.surprises

    def report(self) -> str:
        """Return the outcome as lines."""
        plan, ledger, findings = self._plan, self._ledger, self._findings
        settled = "not in time" if self._settled_after is None else f"{self._settled_after:.1f} s"
        lines = [
            f"Fault injection: seed {plan.seed}, {plan.database}, {plan.seconds:.0f} s, "
            f"{plan.rows:,} rows per file, lease {plan.lease_seconds} s",
            f"uploads acknowledged        {len(ledger.acknowledged):,}",
            f"uploads rejected            {len(ledger.refused):,}",
            f"leaderboards read           {len(ledger.board_reads):,}",
            f"responses                   {_listed(ledger.answers)}",
            f"faults injected             {sum(ledger.faults.values()):,} ({_listed(ledger.faults)})",
            f"organizer actions           {_listed(ledger.deeds)}",
            f"lost                        {findings.count(LOST):,}",
            f"doubled                     {findings.count(DOUBLED):,}",
            f"wrong                       {findings.count(WRONG) + len(ledger.surprises):,}",
            f"stuck                       {findings.count(STUCK):,}",
            f"all jobs ended              {settled} after the last fault",
            f"invariants checked          {_listed(findings.checked)}",
            *(f"VIOLATION {violation}" for violation in findings.violations[:20]),
            *(f"SURPRISE {text}" for text in ledger.surprises[:20]),
            "green" if self.is_green else "RED",
        ]
        return "\n".join(lines)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name}: {number:,}" for name, number in sorted(counts.items())) or "none"

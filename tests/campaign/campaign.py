"""Fault campaigns from start to report."""

import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from grader.models import ScoringJob, ScoringVersionState, Split, Submission, SubmissionStatus
from grader.services.jobs import leased_rows
from tests.campaign.adversary import Adversary
from tests.campaign.checker import Checker
from tests.campaign.clients import Client, Teams
from tests.campaign.findings import LOST, STUCK, WRONG, Findings
from tests.campaign.installation import Installation, installed
from tests.campaign.ledger import Ledger
from tests.campaign.oracle import Oracle
from tests.campaign.organizer import Organizer
from tests.campaign.plan import Plan
from tests.campaign.postgresql import PostgreSQL
from tests.campaign.report import Report
from tests.fixtures.service import write_solution

TOLD_EVERY_SECONDS = 15
# A campaign that waits for its uploads gives up after this multiple of its duration.
LONGEST_FACTOR = 4
ERRORS = re.compile(rb"^(?:[a-z_]+\.)*([A-Z]\w*(?:Error|Exception))\b|(Incident) \w+:", re.MULTILINE)


def run(plan: Plan, folder: Path) -> Report:
    """Run and check a campaign on a fresh installation in a folder."""
    with installed(plan, folder) as (installation, server):
        return Campaign(plan, installation, server).run()


class Campaign:
    """An installation with its clients, its organizer and its adversary."""

    def __init__(self, plan: Plan, installation: Installation, server: PostgreSQL | None):
        self._plan = plan
        self._installation = installation
        self._server = server
        self._solution = write_solution(plan.rows)
        self._ledger = Ledger()
        self._truce = threading.Event()
        self._is_enough = threading.Event()
        self._end = threading.Event()
        self._start = time.monotonic()

    def run(self) -> Report:
        """Run all actors, wait until all jobs are finished, and check; SIGTERM stops the actors early."""
        signal.signal(signal.SIGTERM, lambda *_: self._is_enough.set())
        teams = self._installation.fill(self._solution)
        self._installation.start()
        keeper = threading.Thread(target=self._keep_serving, daemon=True)
        keeper.start()
        self._start = time.monotonic()
        adversary = Adversary(
            self._installation, self._server, plan=self._plan, ledger=self._ledger, truce=self._truce
        )
        clients = self._clients(Teams(teams))
        organizer = Organizer(
            self._installation,
            plan=self._plan,
            solution=self._solution,
            ledger=self._ledger,
            truce=self._truce,
        )
        for actor in (*clients, organizer, adversary):
            actor.start()
        self._let_act()
        self._truce.set()
        adversary.join()
        settled_at = self._settle([*clients, organizer], adversary.last_fault_at)
        seconds = time.monotonic() - self._start
        self._read_boards(clients[0])
        self._end.set()
        keeper.join()
        self._installation.stop()
        findings = self._check()
        return Report(
            plan=self._plan,
            ledger=self._ledger,
            findings=findings,
            seconds=seconds,
            settled_after=settled_at and settled_at - adversary.last_fault_at,
            longest_wait=self._longest_wait(),
            unanswered=len(self._ledger.history().unanswered),
            log_lines=self._errors(),
        )

    def _clients(self, teams: Teams) -> list[Client]:
        port = self._installation.settings.port
        return [
            Client(number, plan=self._plan, port=port, teams=teams, ledger=self._ledger, truce=self._truce)
            for number in range(self._plan.clients)
        ]

    def _let_act(self):
        told = 0.0
        while not self._is_enough.wait(0.1):
            passed = time.monotonic() - self._start
            if passed > told:
                told = passed + TOLD_EVERY_SECONDS
                self._tell(passed)
            is_enough = len(self._ledger.acknowledged) >= self._plan.uploads
            if passed >= self._plan.seconds and (is_enough or passed > LONGEST_FACTOR * self._plan.seconds):
                return

    def _tell(self, passed: float):
        uploads, faults = len(self._ledger.acknowledged), sum(self._ledger.faults.values())
        surprises = f", {len(self._ledger.surprises)} surprises" if self._ledger.surprises else ""
        print(
            f"{passed:.0f} s: {uploads:,} uploads, {faults:,} faults, {self._open_jobs():,} open{surprises}",
            file=sys.stderr,
            flush=True,
        )

    def _keep_serving(self):
        """Restart the service after it was killed, as an init system does."""
        while not self._end.wait(0.5):
            self._installation.restart()

    def _settle(self, actors: Iterable[threading.Thread], last_fault_at: float) -> float | None:
        """Wait until all actors and jobs have finished; return the time, or None on a timeout."""
        while time.monotonic() - last_fault_at < self._plan.patience_seconds:
            if not any(actor.is_alive() for actor in actors) and not self._open_jobs():
                return time.monotonic()
            time.sleep(0.2)
        return None

    def _open_jobs(self) -> int:
        try:
            with self._installation.database.read() as session:
                is_open = ScoringJob.state.in_(leased_rows.OPEN_STATES)
                return session.scalar(select(func.count()).where(is_open).select_from(ScoringJob)) or 0
        except SQLAlchemyError:
            return -1

    def _read_boards(self, client: Client):
        page = 1
        while client.read_board(page):
            page += 1

    def _check(self) -> Findings:
        storage = self._installation.storage
        history = self._ledger.history()
        log = self._installation.log.read_text(errors="replace")
        history = history.with_texts([log])
        checker = Checker(self._installation.database, storage, history, Oracle(storage.read))
        findings = checker.run()
        self._check_faulty(checker, findings)
        self._check_picks(checker, findings)
        self._check_last_board(checker, findings)
        return findings

    def _check_faulty(self, checker: Checker, findings: Findings):
        for submission in checker.rows.submissions.values():
            if submission.sha256 in self._ledger.faulty:
                is_rejected = submission.status is SubmissionStatus.REJECTED
                kind = STUCK if submission.status is SubmissionStatus.PENDING else WRONG
                text = f"The faulty submission {submission.id} is {submission.status}."
                findings.expect(is_rejected, "I3", kind, text)

    def _check_picks(self, checker: Checker, findings: Findings):
        picked: dict[str, set[int]] = {}
        for submission in checker.rows.submissions.values():
            team = checker.rows.teams[submission.team_id].name
            if submission.is_selected:
                picked.setdefault(team, set()).add(submission.id)
        for team, picks in self._ledger.picks.items():
            if team not in self._ledger.unsure:
                text = f"{team} selected {picks}; the database contains {picked.get(team, set())}."
                findings.expect(picks == picked.get(team, set()), "I5", LOST, text)

    def _check_last_board(self, checker: Checker, findings: Findings):
        """Check that the leaderboard read at the end contains every team with a standing."""
        live = next(
            version for version in checker.rows.versions.values() if version.state is ScoringVersionState.LIVE
        )
        teams = {
            checker.rows.teams[row.team_id].name
            for row in checker.rows.standings
            if row.scoring_version_id == live.id and row.split is Split.PUBLIC
        }
        read: set[str] = set()
        for board in reversed(self._ledger.board_reads):
            read |= {line.team for line in board.lines}
            if board.lines and board.lines[0].rank == 1:
                break
        text = f"The last leaderboard has {len(read)} teams; {len(teams)} have a standing."
        findings.expect(read == teams, "I5", WRONG, text)

    def _longest_wait(self) -> float:
        """Return the longest time from a file's acceptance to its first result."""
        with self._installation.database.read() as session:
            query = (
                select(Submission.submitted_at, func.min(ScoringJob.finished_at))
                .join(ScoringJob, ScoringJob.submission_id == Submission.id)
                .group_by(Submission.id)
            )
            waits: list[tuple[datetime, datetime | None]] = [tuple(row) for row in session.execute(query)]
        return max(((end - begin).total_seconds() for begin, end in waits if end), default=0.0)

    def _errors(self) -> Counter[str]:
        found = ERRORS.findall(self._installation.log.read_bytes())
        return Counter((name or incident).decode() for name, incident in found)

"""Seeded fault injection: kills, stalls, restarts, full disks, forged writes."""

import os
import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import psutil
from redis.exceptions import RedisError
from sqlalchemy import insert, select, text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from grader import db
from grader.models import Score, ScoringJob, Submission
from grader.services.jobs.leased_rows import Rejection
from grader.services.scoring import jobs
from tests.campaign.installation import Installation
from tests.campaign.ledger import Ledger
from tests.campaign.plan import Plan
from tests.campaign.postgresql import PostgreSQL

FILLER = "filler"


class Fault(NamedTuple):
    """A fault with its weight and its action, which returns whether the fault could be injected."""

    name: str
    weight: int
    do: Callable[[], bool]


class Adversary(threading.Thread):
    """Injects one fault after another; locks and stopped processes are released after a set time."""

    def __init__(
        self,
        installation: Installation,
        server: PostgreSQL | None,
        *,
        plan: Plan,
        ledger: Ledger,
        truce: threading.Event,
    ):
        super().__init__(name="adversary", daemon=True)
        self._installation = installation
        self._server = server
        self._plan = plan
        self._ledger = ledger
        self._truce = truce
        self._random = random.Random(f"{plan.seed} adversary")
        self._holds: list[threading.Thread] = []
        self._hints = installation.hints()
        self._faults = [each for each in self._all() if not plan.only or each.name in plan.only]
        self._deck: list[Fault] = []
        self.last_fault_at = time.monotonic()

    def run(self):
        due = time.monotonic()
        while not self._truce.is_set():
            due += self._plan.pause
            if self._truce.wait(max(0, due - time.monotonic())):
                break
            self._harm()
        for hold in self._holds:
            hold.join()
        self._hints.close()

    def _harm(self):
        """Inject one fault; if it cannot be injected now, try another."""
        for _ in range(20):
            fault = self._draw()
            try:
                was_done = fault.do()
            except (SQLAlchemyError, sqlite3.Error, RedisError, psutil.Error, OSError) as error:
                self._ledger.count(self._ledger.deeds, f"{fault.name} failed ({type(error).__name__})")
                continue
            if was_done:
                self._ledger.count(self._ledger.faults, fault.name)
                self.last_fault_at = time.monotonic()
                return

    def _draw(self) -> Fault:
        """Return the next fault in a seeded order: first each kind once, then in rounds by weight."""
        if not self._deck:
            is_first = not self._ledger.faults
            self._deck = [each for each in self._faults for _ in range(1 if is_first else each.weight)]
            self._random.shuffle(self._deck)
        return self._deck.pop()

    def _all(self) -> list[Fault]:
        faults = [
            *(self._killing(role, weight) for role, weight in KILLED),
            Fault("scorer stalled beyond its lease", 5, lambda: self._stall("scorer", beyond_lease=True)),
            Fault("sweeper's child stalled", 2, lambda: self._stall("sweeper's child", beyond_lease=True)),
            Fault("rescorer stalled", 2, lambda: self._stall("rescorer's child", beyond_lease=True)),
            Fault("web worker stalled", 3, lambda: self._stall("web worker")),
            Fault("sweeper stalled", 2, lambda: self._stall("sweeper")),
            Fault("broker stalled", 3, lambda: self._stall("valkey")),
            Fault("broker flushed", 6, self._flush),
            Fault("50 duplicate deliveries", 5, self._duplicate),
            Fault("outdated token used", 4, self._use_outdated_token),
            Fault("second result written", 3, self._write_second_result),
        ]
        if os.path.ismount(self._installation.data_dir):
            faults.append(Fault("disk filled", 4, self._fill_disk))
        if self._server is None:
            return [*faults, Fault("database locked", 3, self._lock_database)]
        return [
            *faults,
            Fault("database connections terminated", 4, self._terminate_connections),
            Fault("database process killed", 1, self._kill_database_process),
            Fault("database restarted", 2, lambda: self._restart_database(self._server.restart)),
            Fault("database crashed", 2, lambda: self._restart_database(self._server.crash)),
        ]

    def _killing(self, role: str, weight: int) -> Fault:
        return Fault(f"{role} killed", weight, lambda: self._kill(role))

    def _kill(self, role: str) -> bool:
        found = self._installation.processes(role)
        if not found:
            return False
        self._random.choice(found).kill()
        if role == "serve":
            time.sleep(self._random.random())
            self._installation.restart()
        return True

    def _stall(self, role: str, *, beyond_lease: bool = False) -> bool:
        found = self._installation.processes(role)
        if not found:
            return False
        stalled = self._random.choice(found)
        seconds = self._plan.lease_seconds + 2 if beyond_lease else self._random.uniform(1, 4)
        stalled.suspend()

        def resume():
            with suppress(psutil.Error):
                stalled.send_signal(signal.SIGCONT)

        self._hold(seconds, resume)
        return True

    def _hold(self, seconds: float, let_go: Callable[[], object]):
        """Release a fault after some seconds or when the campaign ends, and record that time."""

        def wait():
            self._truce.wait(seconds)
            let_go()
            self.last_fault_at = time.monotonic()

        self._holds.append(threading.Thread(target=wait, daemon=True))
        self._holds[-1].start()

    def _flush(self) -> bool:
        with self._installation.broker as broker:
            return bool(broker.flushall())

    def _duplicate(self) -> bool:
        with self._installation.database.read() as session:
            newest = select(ScoringJob.id).order_by(ScoringJob.id.desc()).limit(20)
            found = session.scalars(newest).all()
        if found:
            self._hints.send([self._random.choice(found)] * 50)
        return bool(found)

    def _use_outdated_token(self) -> bool:
        """Act as a worker that lost its lease and then rejects the file."""
        database = self._installation.database
        for _ in range(50):
            with database.write() as session:
                now = db.now(session)
                waiting = jobs.waiting(session, older_than=timedelta(), limit=1, now=now)
                late = waiting and jobs.claim(session, job_id=waiting[0], lease=timedelta(), now=now)
            if not late:
                time.sleep(0.02)
                continue
            with database.write() as session:
                now = db.now(session)
                jobs.claim(session, job_id=late.job_id, lease=timedelta(), now=now)
                outcome = Rejection([{"message": "Rejected by a late worker."}])
                jobs.record(session, job_id=late.job_id, token=late.token, outcome=outcome, now=now)
            return True
        return False

    def _write_second_result(self) -> bool:
        """Insert duplicate rows directly, as a broken version of the service would."""
        for table in (Score, ScoringJob, Submission):
            columns = table.__table__.columns
            with suppress(IntegrityError), self._installation.database.write() as session:
                query = select(*columns).order_by(columns.id.desc())
                if table is Submission:
                    query = query.where(columns.idempotency_key.is_not(None))
                row = session.execute(query.limit(1)).mappings().first()
                if row is None:
                    return False
                session.execute(insert(table).values({**row, "id": row["id"] + 1_000_000}))
        return True

    def _fill_disk(self) -> bool:
        filler = self._installation.data_dir / FILLER
        if filler.exists():
            return False
        status = os.statvfs(self._installation.data_dir)
        # The remaining space is either zero or below the reserve.
        left = self._random.choice((0, 0, 10_000_000))
        with filler.open("wb") as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(4096, status.f_bavail * status.f_frsize - left))
        self._hold(self._random.uniform(1, 4), lambda: filler.unlink(missing_ok=True))
        return True

    def _lock_database(self) -> bool:
        path = Path(self._installation.data_dir) / "fairboard.db"
        connection = sqlite3.connect(path, timeout=20, isolation_level=None, check_same_thread=False)
        connection.execute("BEGIN IMMEDIATE")
        self._hold(self._random.uniform(1, 4), connection.close)
        return True

    def _terminate_connections(self) -> bool:
        own = "pid <> pg_backend_pid() AND datname = current_database()"
        with self._installation.database.write() as session:
            session.execute(text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {own}"))
        return True

    def _kill_database_process(self) -> bool:
        with self._installation.database.write() as session:
            others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
            pids = session.scalars(text(f"SELECT pid FROM pg_stat_activity WHERE {others}")).all()
        if not pids:
            return False
        os.kill(self._random.choice(pids), signal.SIGKILL)
        return True

    def _restart_database(self, restart: Callable[[], None]) -> bool:
        restart()
        return True


KILLED = (
    ("web worker", 5),
    ("web", 2),
    ("scorer", 8),
    ("worker", 4),
    ("rescorer", 2),
    ("rescorer's child", 3),
    ("sweeper", 4),
    ("sweeper's child", 4),
    ("valkey", 4),
    ("serve", 2),
    ("guardian", 1),
)

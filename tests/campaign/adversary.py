"""Seeded fault injection: kills, stalls and restarts."""

import random
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import psutil
from redis.exceptions import RedisError
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from grader.models import ScoringJob
from tests.campaign.scene import Scene
from tests.fixtures.databases import OwnPostgresql

KILLED = (
    *("web", "web worker", "worker", "scorer", "sweeper", "sweeper's child"),
    *("valkey", "serve"),
)
STALLED = ("scorer", "sweeper's child", "web worker", "valkey")


class Adversary(threading.Thread):
    """Injects one fault after another; locks and stopped processes are released after a set time.

    An action returns whether its fault could be injected.
    """

    def __init__(self, scene: Scene, server: OwnPostgresql | None):
        super().__init__(name="adversary", daemon=True)
        self._installation, self._ledger, self._truce = scene
        self._plan = plan = self._installation.plan
        self._random = random.Random(f"{plan.seed} adversary")
        self._holds: list[threading.Thread] = []
        self._hints = self._installation.hints()
        self._faults = {
            name: action for name, action in self._all(server).items() if not plan.only or name in plan.only
        }
        self.last_fault_at = time.monotonic()

    def run(self):
        """Inject all faults in a random order, then all of them in another order, and so on."""
        deck: list[str] = []
        while not self._truce.wait(self._plan.pause):
            for _ in self._faults:
                if not deck:
                    deck = self._random.sample(list(self._faults), len(self._faults))
                if self._inject(deck.pop()):
                    break
        for hold in self._holds:
            hold.join()

    def _inject(self, name: str) -> bool:
        with suppress(SQLAlchemyError, sqlite3.Error, RedisError, psutil.Error, OSError):
            if self._faults[name]():
                self._ledger.count(self._ledger.faults, name)
                self.last_fault_at = time.monotonic()
                return True
        return False

    def _all(self, server: OwnPostgresql | None) -> dict[str, Callable[[], bool]]:
        faults: dict[str, Callable[[], bool]] = {
            **{f"{role} killed": lambda role=role: self._kill(role) for role in KILLED},
            **{f"{role} stalled": lambda role=role: self._stall(role) for role in STALLED},
            "broker flushed": self._flush,
            "50 duplicate deliveries": self._duplicate,
        }
        if server is None:
            return faults | {"database locked": self._lock_database}
        return faults | {
            "database connections terminated": lambda: server.terminate_connections() or True,
            "database crashed": lambda: server.restart() or True,
        }

    def _kill(self, role: str) -> bool:
        running = self._installation.processes(role)
        if running:
            self._random.choice(running).kill()
        return bool(running)

    def _stall(self, role: str) -> bool:
        """Stop a process for longer than its lease."""
        running = self._installation.processes(role)
        if not running:
            return False
        stalled = self._random.choice(running)
        stalled.suspend()

        def resume():
            with suppress(psutil.Error):
                stalled.send_signal(signal.SIGCONT)

        self._hold(self._plan.lease_seconds + 2, resume)
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
            newest = session.scalars(select(ScoringJob.id).order_by(ScoringJob.id.desc()).limit(20)).all()
        if newest:
            self._hints.send([self._random.choice(newest)] * 50)
        return bool(newest)

    def _lock_database(self) -> bool:
        path = self._installation.data_dir / "fairboard.db"
        connection = sqlite3.connect(path, timeout=20, isolation_level=None, check_same_thread=False)
        connection.execute("BEGIN IMMEDIATE")
        self._hold(self._random.uniform(1, 4), connection.close)
        return True

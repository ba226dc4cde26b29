"""Installation under `fairboard serve` with its own disk, database and processes."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
from pydantic import SecretStr
from redis import Redis

from grader.db import Database
from grader.files import read_solution
from grader.maintenance import schema
from grader.services.identity import accounts, api_tokens
from grader.services.site.log import Actor
from grader.services.teams import participations
from grader.settings import Settings
from grader.storage.stores import Storage, open_storage
from grader.supervisor import valkey
from grader.worker.broker import Hints
from tests.campaign.plan import TEAM_LIMIT, DatabaseKind, Plan
from tests.fixtures import stored_solutions
from tests.fixtures.competitions import publish_competition
from tests.fixtures.databases import OwnPostgresql, wheels_server
from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.programs import end_with_run
from tests.fixtures.services import as_person

SLUG = "toxicity"
ORGANIZER = Actor(None, "the campaign")
MAX_PENDING = 25
FAIRBOARD = (sys.executable, "-P", "-m", "grader.cli")


class Installation:
    """An installation in a folder; `serve` runs from `start` to `stop` unless it is killed."""

    def __init__(self, plan: Plan, folder: Path, *, database_url: str | None):
        self.plan = plan
        self.folder = folder
        self.data_dir = folder / "var"
        self.data_dir.mkdir(exist_ok=True)
        self.log = folder / "serve.log"
        self.settings = self._settings(database_url)
        self.database = Database(self.settings.database(), pool_size=8)
        self.storage: Storage = open_storage(self.settings.storage())
        self._process: subprocess.Popen[bytes] | None = None

    def _settings(self, database_url: str | None) -> Settings:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        values: dict[str, Any] = {
            "data_dir": self.data_dir,
            "port": port,
            "secret_key": SecretStr("the campaign's key"),
            "password_hash_memory_kib": 8,
            "rate_limits": False,
            "scoring_time_limit_seconds": self.plan.lease_seconds * 3 // 4,
            "disk_reserve_mb": 20,
        }
        if database_url is not None:
            values["database_url"] = SecretStr(database_url)
        if self.plan.is_hasty:
            values |= {"sweep_after_seconds": 2}
        return Settings(**values)

    def fill(self, solution: bytes) -> list[str]:
        """Create the tables, the competition and one-person teams; return the teams' API tokens."""
        schema.upgrade(self.database)
        now = datetime.now(UTC)
        stored = stored_solutions.store_new(self.storage, read_solution(solution), split_key=b"campaign")
        with self.database.write() as session:
            competition = publish_competition(
                session,
                slug=SLUG,
                solution=stored,
                actor=ORGANIZER,
                now=now,
                max_daily_submissions=None,
                max_total_submissions=TEAM_LIMIT,
                max_pending_submissions=MAX_PENDING,
                max_hourly_rejections=100_000,
            )
            passwords = accounts.password_hasher(self.settings)
            tokens = []
            for number in range(self.plan.team_count):
                user = accounts.sign_up(
                    session, name=f"team{number}", password="correct horse", passwords=passwords, now=now
                )
                participations.join(as_person(session, competition, user, now=now))
                _, token = api_tokens.create(session, user=user, name="campaign", now=now)
                tokens.append(token)
        return tokens

    def start(self):
        """Start `serve` and wait until it responds."""
        self.restart()
        deadline = time.monotonic() + HANG_SECONDS
        while not self.answers():
            if time.monotonic() > deadline:
                raise RuntimeError(f"`fairboard serve` did not start. See {self.log}.")
            time.sleep(0.2)

    def restart(self):
        """Start `serve` unless it is running."""
        if self._process is not None and self._process.poll() is None:
            return
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [*FAIRBOARD, "serve"],
                env=os.environ | self.settings.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=end_with_run,
            )

    def answers(self) -> bool:
        """Return whether the site responds."""
        try:
            with urlopen(f"http://127.0.0.1:{self.settings.port}/healthz", timeout=5) as response:
                return response.status == 200
        except (OSError, HTTPException):
            return False

    def stop(self):
        """Stop `serve` normally, or kill it after a minute."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def processes(self, role: str) -> list[psutil.Process]:
        """Return the running processes of a role; "serve" is the supervisor, "scorer" a worker's child."""
        found = []
        for process in self._all():
            with contextlib.suppress(psutil.Error):
                if role == self._role(process) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def _all(self) -> Iterator[psutil.Process]:
        if self._process is None or self._process.poll() is not None:
            return
        with contextlib.suppress(psutil.Error):
            serve = psutil.Process(self._process.pid)
            yield serve
            yield from serve.children(recursive=True)

    def _role(self, process: psutil.Process) -> str:
        if self._process is not None and process.pid == self._process.pid:
            return "serve"
        command = process.cmdline()
        parent = process.parent()
        is_child = parent is not None and parent.cmdline() == command
        for part, role, child in ROLES:
            if any(part in each for each in command):
                return child if is_child else role
        return "other"

    @property
    def broker(self) -> Redis:
        """A client of the service's own Valkey server."""
        return Redis(unix_socket_path=str(self.data_dir / valkey.LINK), socket_timeout=2)

    def hints(self) -> Hints:
        """Return a sender of hints to the service's own Valkey server."""
        url = f"redis+socket://{(self.data_dir / valkey.LINK).resolve()}"
        return Hints(self.settings.model_copy(update={"broker_url": SecretStr(url)}))


# Part of the command line, the role of such a process, and the role of its children.
ROLES = (
    ("gunicorn", "web", "web worker"),
    ("worker@", "worker", "scorer"),
    ("sweeper", "sweeper", "sweeper's child"),
    ("valkey-server", "valkey", "valkey"),
    ("redis-server", "valkey", "valkey"),
)


@contextlib.contextmanager
def installed(plan: Plan, folder: Path) -> Iterator[tuple[Installation, OwnPostgresql | None]]:
    """Run an installation, with PostgreSQL if the plan requires it, and clean up all processes."""
    with contextlib.ExitStack() as stack:
        server = None
        if plan.database is DatabaseKind.POSTGRESQL:
            folder.chmod(0o755)  # As root, the PostgreSQL of the wheel runs as another user.
            started = stack.enter_context(wheels_server(folder, folder / "pg"))
            server = OwnPostgresql(
                started, started.get_uri().replace("postgresql:", "postgresql+psycopg:", 1)
            )
        installation = Installation(plan, folder, database_url=server.url if server else None)
        stack.callback(installation.database.dispose)
        stack.callback(installation.stop)
        yield installation, server

"""Fixtures for starting and killing real processes, and files that block their readers."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import psutil
import pytest
from sqlalchemy import select, update

from grader.crash_points import EXIT_CODE, VARIABLE
from grader.models import JobState, Score, ScoringJob, Submission, SubmissionStatus
from grader.settings import Settings
from grader.worker.broker import Hints
from tests.fixtures import patience
from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.programs import end_with_run
from tests.fixtures.snags import Snag

NOTHING: Mapping[str, str] = MappingProxyType({})
SWEEPER = (
    "from grader.settings import load; from grader.worker.sweeper import *; sweep_until_told_to_stop(load())"
)


@pytest.fixture
def all_is_well(service, check_invariants):
    """A function that scores all files and checks the invariants for the accepted and the sent ones."""

    def check(*accepted, sent: Mapping[int, bytes] = MappingProxyType({}), **seen):
        service.score_all()
        acknowledged = {each.submission.id: each.submission.sha256 for each in accepted}
        acknowledged |= {key: sha256(content).hexdigest() for key, content in sent.items()}
        check_invariants(service.database, service.storage, acknowledged=acknowledged, **seen)

    return check


@dataclass
class Processes:
    """Starts processes of the service, each in its own session, and ends them all afterwards."""

    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def worker(
        self, settings: Settings, *, concurrency: int = 1, **environment: str
    ) -> subprocess.Popen[bytes]:
        options = ["--concurrency", str(concurrency), "--loglevel", "WARNING", "--without-mingle"]
        celery = ["-m", "celery", "--app", "grader.worker.app", "worker", *options]
        return self.python(settings, *celery, environment=environment)

    def sweeper(self, settings: Settings, **environment: str) -> subprocess.Popen[bytes]:
        return self.python(settings, "-c", SWEEPER, environment=environment)

    def crash(self, settings: Settings, *arguments: str, at: str):
        """Run a program that must die at a crash point."""
        with self.python(settings, *arguments, environment={VARIABLE: at}, stdin=subprocess.PIPE) as process:
            assert process.wait(HANG_SECONDS) == EXIT_CODE

    def python(
        self, settings: Settings, *arguments: str, environment: Mapping[str, str] = NOTHING, **options
    ) -> subprocess.Popen[bytes]:
        environment = os.environ | settings.environment() | environment
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env=environment,
            start_new_session=True,
            preexec_fn=end_with_run,
            **options,
        )
        self.started.append(process)
        return process

    def kill(self, process: subprocess.Popen[bytes]):
        """Kill a process and all its descendants immediately."""
        self.signal(process, signal.SIGKILL)
        process.wait()

    def signal(self, process: subprocess.Popen[bytes], number: signal.Signals):
        """Send a signal to a process and all its descendants."""
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.send_signal(number)

    def end(self):
        for process in self.started:
            if process.poll() is None:
                self.kill(process)


@pytest.fixture
def processes():
    processes = Processes()
    yield processes
    processes.end()


@pytest.fixture
def snag(service):
    """A function that replaces a submission's stored file with a snag, which blocks the file's reader."""
    snags: list[Snag] = []

    def lay(accepted) -> Snag:
        snags.append(Snag.at(service.settings.data_dir / "blobs", accepted.submission.sha256))
        return snags[-1]

    yield lay
    for laid in snags:
        laid.end()


@pytest.fixture
def eventually():
    """A function that polls until a condition holds."""
    return patience.eventually


@dataclass
class Watch:
    """The current contents of the tables."""

    service: Any

    def states(self) -> list[JobState]:
        with self.service.database.read() as session:
            return list(session.scalars(select(ScoringJob.state).order_by(ScoringJob.id)))

    def attempts(self) -> list[int]:
        with self.service.database.read() as session:
            return list(session.scalars(select(ScoringJob.attempt_count).order_by(ScoringJob.id)))

    def all_scored(self) -> bool:
        with self.service.database.read() as session:
            statuses = set(session.scalars(select(Submission.status)))
        return statuses == {SubmissionStatus.SCORED}

    def let_leases_run_out(self):
        with self.service.database.write() as session:
            session.execute(update(ScoringJob).values(lease_until=self.service.now))

    def score_count(self) -> int:
        with self.service.database.read() as session:
            return len(session.scalars(select(Score.id)).all())


@pytest.fixture
def hint(service):
    """A function that sends hints for jobs to the workers."""
    return lambda *job_ids: Hints(service.settings).send(job_ids)


@pytest.fixture
def watch(service):
    return Watch(service)

"""SIGTERM: completion of running work, or its immediate return to the queue."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from pydantic import SecretStr
from redis import Redis
from sqlalchemy import select

from grader import db
from grader.models import JobState, OrganizerJob
from grader.services.site import organizer_jobs
from grader.services.site.log import Actor
from grader.services.solutions import check_jobs
from grader.services.solutions.check_jobs import UploadedFile
from grader.settings import Settings
from grader.supervisor.supervisor import Child, Program
from grader.worker.broker import Hints
from grader.worker.children.job_child import JobChild
from grader.worker.scorer import Scorer
from tests.fixtures.patience import HANG_SECONDS

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
CELERY = (sys.executable, "-m", "celery", "--app", "grader.worker.app", "worker", "--concurrency", "1")


@pytest.fixture
def settings(make_settings: Callable[..., Settings], valkey) -> Settings:
    """Settings with which a sweeper claims free jobs immediately."""
    return make_settings(broker_url=SecretStr(valkey.url), sweep_interval_seconds=0.2, sweep_after_seconds=0)


@on_sqlite
def test_stopped_sweeper_returns_the_jobs_in_progress(service, processes, snag, eventually, watch):
    caught = snag(service.submit(service.competition()))
    sweeper = processes.sweeper(service.settings)
    eventually(caught.holds)
    sweeper.send_signal(signal.SIGTERM)
    assert sweeper.wait(HANG_SECONDS) == 0
    assert (watch.states(), watch.attempts()) == ([JobState.WAITING], [0])


@on_postgresql
def test_stopped_worker_returns_jobs_that_it_cannot_finish(service, snag, eventually, watch):
    accepted = service.submit(service.competition())
    caught = snag(accepted)
    command = (*CELERY, "--loglevel", "WARNING", "--without-mingle")
    worker = Child(Program("worker", command, service.settings.environment(), grace_seconds=1))
    try:
        worker.tend()
        hints = Hints(service.settings)
        hints.send(accepted.job_ids)
        hints.close()
        eventually(caught.holds)
    finally:
        worker.stop()
    assert (watch.states(), watch.attempts()) == ([JobState.WAITING], [0])
    caught.restore()
    scorer = Scorer(service.database, service.storage, lease=timedelta(seconds=40))
    assert scorer.run(*accepted.job_ids)
    assert watch.all_scored()


@on_sqlite
def test_stopped_organizer_job_restarts_immediately(service, snag, eventually, solution_csv):
    competition = service.competition()
    blob = service.storage.put(solution_csv(seed=5))
    with service.database.write() as session:
        job = check_jobs.add(
            session,
            competition=competition,
            file=UploadedFile.of("solution.csv", blob),
            actor=Actor(None, "tests"),
            now=service.now,
        )
    snag(_Named(blob.sha256))
    child = JobChild(service.settings)
    lane = threading.Thread(target=child.organize, args=(job.id,))
    lane.start()

    def is_claimed() -> bool:
        with service.database.read() as session:
            return session.scalars(select(OrganizerJob.state)).one() is JobState.CLAIMED

    # The FIFO must have no writer: once it is open, the check reads its size of 0 and rejects the file.
    eventually(is_claimed)
    child.stop()
    lane.join(HANG_SECONDS)
    with service.database.read() as session:
        found = session.scalars(select(OrganizerJob)).one()
        assert (found.state, found.attempt_count) == (JobState.WAITING, 0)
        assert organizer_jobs.waiting(session, limit=1, now=db.now(session)) == [job.id]


def test_transaction_is_not_interrupted_by_a_stop_request():
    """The request arrives inside a shielded block, in its own process."""
    program = (
        "import os, signal\n"
        "from grader.worker.process import ending\n"
        "ending.end_on_request()\n"
        "try:\n"
        "    with ending.shielded():\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        print('committed')\n"
        "        try:\n"
        "            with ending.exposed():\n"
        "                print('computed')\n"
        "        except ending.Stopped:\n"
        "            print('handed back')\n"
        "    print('went on')\n"
        "except ending.Stopped:\n"
        "    print('ended')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["committed", "handed back", "ended", ""]


class _Named:
    """The attributes of a submission that a snag needs."""

    def __init__(self, sha256: str):
        self.submission = self
        self.sha256 = sha256


@on_sqlite
def test_idle_worker_never_reads_from_the_broker_for_more_than_a_second(service, valkey, processes):
    """A worker cannot stop during such a read."""
    client = Redis(unix_socket_path=str(valkey.socket), socket_timeout=HANG_SECONDS)
    with client, client.monitor() as monitor:
        processes.worker(service.settings)
        words = next(each["command"].split() for each in monitor.listen() if "BRPOP" in each["command"])
    assert float(words[-1]) <= 1

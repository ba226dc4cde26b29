"""The sweeper's heartbeat; what it scores is tried with real processes in tests/faults."""

import errno
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from grader.db import Database
from grader.models import ScoringJob, SubmissionStatus
from grader.services.scoring import jobs
from grader.settings import Settings
from grader.worker.children.job_child import JobChild
from grader.worker.process import holders
from grader.worker.sweeper import CHILDREN, Sweeper
from tests.fixtures.patience import HANG_SECONDS, eventually

pytestmark = pytest.mark.both_databases

NEVER = {"sweep_interval_seconds": 3600.0, "sweep_after_seconds": 3600.0}
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@contextmanager
def sweeping(settings: Settings, database: Database, *, heartbeat: Path | None = None) -> Iterator[None]:
    stop = threading.Event()
    lane = threading.Thread(target=Sweeper(settings, database, heartbeat=heartbeat).run, args=(stop,))
    lane.start()
    try:
        yield
    finally:
        stop.set()
        lane.join()


def sweep(settings: Settings, database: Database, heartbeat: Path, *, until: Callable[[], bool]):
    with sweeping(settings, database, heartbeat=heartbeat):
        eventually(until, "what is waited for")


def ready_processes() -> list[psutil.Process]:
    return [
        each for each in psutil.Process().children() if "grader.worker.children.job_program" in each.cmdline()
    ]


def name_of_one_that_died() -> str:
    """Return the name of a process that was killed while it held something."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = psutil.Process(process.pid).create_time()
        process.kill()
    return f"{holders.machine()}/{process.pid}/{started:.2f}"


def test_the_heartbeat_is_touched_when_the_database_answers(service, tmp_path: Path):
    heartbeat = tmp_path / "alive"
    sweep(service.settings, service.database, heartbeat, until=heartbeat.exists)
    assert heartbeat.exists()


def test_a_database_that_does_not_answer_leaves_the_heartbeat_alone(
    service, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    heartbeat = tmp_path / "alive"
    empty = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    sweep(service.settings, empty, heartbeat, until=lambda: "lane sweep" in caplog.text)
    empty.dispose()
    assert not heartbeat.exists()


def test_a_lane_that_breaks_goes_on(
    service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    accepted = service.submit(service.competition())
    tries, start = [0], subprocess.Popen

    def rarely(*what, **options):
        tries[0] += 1
        if tries[0] < 4:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        return start(*what, **options)

    monkeypatch.setattr("grader.worker.process.child.subprocess.Popen", rarely)
    settings = service.settings.model_copy(update={"sweep_interval_seconds": 0.1})
    heartbeat, stop = tmp_path / "later" / "alive", threading.Event()
    sweeper = Sweeper(settings, service.database, heartbeat=heartbeat)
    lane = threading.Thread(target=sweeper.run, args=(stop,))
    lane.start()
    eventually(lambda: "lane sweep" in caplog.text, "the break of a lane without its heartbeat")
    heartbeat.parent.mkdir()
    eventually(lambda: service.submission(accepted).status is SubmissionStatus.SCORED, "the score")
    eventually(heartbeat.exists, "a heartbeat")
    stop.set()
    lane.join()


def claim_as_a_dead_process(service, accepted):
    """Claim a job for an hour in the name of a process that has died."""
    with service.database.write() as session:
        assert jobs.claim(
            session,
            job_id=accepted.job_ids[0],
            lease=timedelta(hours=1),
            now=service.now,
            holder=name_of_one_that_died(),
        )


def test_what_a_dead_process_held_is_scored_by_one_that_was_ready_before(
    service, monkeypatch: pytest.MonkeyPatch
):
    """Nothing waits for the start of a process, nor for the next sweep, which would come in an hour."""
    monkeypatch.setattr("grader.worker.sweeper.READY_AFTER_SECONDS", 0)
    service.now = datetime.now(UTC)
    settings = service.settings.model_copy(update=NEVER)
    with sweeping(settings, service.database):
        eventually(lambda: len(ready_processes()) == CHILDREN, "the start of all that are to be ready")
        before = {each.pid for each in ready_processes()}
        accepted = service.submit(service.competition())
        claim_as_a_dead_process(service, accepted)
        eventually(lambda: service.submission(accepted).status is SubmissionStatus.SCORED, "the score")
        with service.database.read() as session:
            holder = session.get_one(ScoringJob, accepted.job_ids[0]).holder
        assert int(holder.rsplit("/", 2)[1]) in before
        assert {each.pid for each in ready_processes()} == before
    assert ready_processes() == []


@on_sqlite
def test_a_ready_process_that_keeps_dying_is_not_started_all_the_time(
    service, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("grader.worker.sweeper.READY_AFTER_SECONDS", 0)
    starts, start = [], subprocess.Popen

    def dying(command: list[str], **options):
        starts.append(command)
        return start([sys.executable, "-c", "raise SystemExit(3)"], **options)

    monkeypatch.setattr("grader.worker.process.child.subprocess.Popen", dying)
    looks: list[bool] = []
    be_ready = JobChild.be_ready

    def looking(child: JobChild):
        be_ready(child)
        process = child._child.process
        looks.append(process is not None and process.code is not None)

    monkeypatch.setattr(JobChild, "be_ready", looking)
    with sweeping(service.settings, service.database):
        eventually(lambda: looks.count(True) >= 10, "ten looks at processes that died")
    assert len(starts) == CHILDREN


@on_sqlite
def test_a_claim_that_is_freed_during_a_look_is_taken_by_the_next_one(
    service, monkeypatch: pytest.MonkeyPatch
):
    """A look that began before the claim was free does not see it, and must not be the last for an hour."""
    service.now = datetime.now(UTC)
    accepted = service.submit(service.competition())
    claim_as_a_dead_process(service, accepted)
    look, has_looked, goes_on = Sweeper._look, threading.Event(), threading.Event()

    def slowly(sweeper: Sweeper) -> list[int]:
        found = look(sweeper)
        has_looked.set()
        assert goes_on.wait(HANG_SECONDS)
        return found

    def is_free() -> bool:
        with service.database.read() as session:
            job = session.get_one(ScoringJob, accepted.job_ids[0])
            return job.lease_until is not None and job.lease_until <= datetime.now(UTC)

    free_claims = Sweeper._free_claims

    def after_the_look(sweeper: Sweeper) -> bool:
        assert has_looked.wait(HANG_SECONDS)
        return free_claims(sweeper)

    monkeypatch.setattr(Sweeper, "_look", slowly)
    monkeypatch.setattr(Sweeper, "_free_claims", after_the_look)
    with sweeping(service.settings.model_copy(update=NEVER), service.database):
        eventually(is_free, "the end of the dead process's lease")
        goes_on.set()
        eventually(lambda: service.submission(accepted).status is SubmissionStatus.SCORED, "the score")

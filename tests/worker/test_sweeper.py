"""Sweeper: heartbeat and lanes; for scoring, see tests/faults."""

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
from sqlalchemy.exc import OperationalError

from grader.db import Database
from grader.models import OrganizerJobKind, ScoringJob, SubmissionStatus
from grader.services.site import organizer_jobs
from grader.services.submissions import scoring_jobs as jobs
from grader.settings import Settings
from grader.worker.process import holders
from grader.worker.sweeper import DueWork, Sweeper
from tests.fixtures.patience import HANG_SECONDS, eventually
from tests.fixtures.statements import recorded

pytestmark = pytest.mark.system

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
        eventually(until, "the expected state")


def name_of_one_that_died() -> str:
    """Return the holder name of a killed process."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = psutil.Process(process.pid).create_time()
        process.kill()
    return f"{holders.machine()}/{process.pid}/{started:.2f}"


def test_heartbeat_is_touched_when_the_database_responds(service, tmp_path: Path):
    heartbeat = tmp_path / "alive"
    sweep(service.settings, service.database, heartbeat, until=heartbeat.exists)
    assert heartbeat.exists()


def test_heartbeat_is_not_touched_without_a_working_database(
    service, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    heartbeat = tmp_path / "alive"
    empty = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    sweep(service.settings, empty, heartbeat, until=lambda: "lane sweep" in caplog.text)
    empty.dispose()
    assert not heartbeat.exists()


def test_failing_lane_continues(
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
    eventually(lambda: "lane sweep" in caplog.text, "the error of a lane without its heartbeat")
    heartbeat.parent.mkdir()
    eventually(lambda: service.submission(accepted).status is SubmissionStatus.SCORED, "the score")
    eventually(heartbeat.exists, "a heartbeat")
    stop.set()
    lane.join()


def claim_as_a_dead_process(service, accepted):
    """Claim a job for an hour under the name of a dead process."""
    with service.database.write() as session:
        assert jobs.claim(
            session,
            job_id=accepted.job_ids[0],
            lease=timedelta(hours=1),
            now=service.now,
            holder=name_of_one_that_died(),
        )


def test_job_of_a_dead_process_is_scored_before_the_next_sweep(service):
    """The next sweep would be an hour later."""
    service.now = datetime.now(UTC)
    settings = service.settings.model_copy(update=NEVER)
    with sweeping(settings, service.database):
        accepted = service.submit(service.competition())
        claim_as_a_dead_process(service, accepted)
        eventually(lambda: service.submission(accepted).status is SubmissionStatus.SCORED, "the score")


@on_sqlite
def test_claim_freed_during_a_sweep_is_found_by_the_next_sweep(service, monkeypatch: pytest.MonkeyPatch):
    """Release the claim after a sweep has started; the next sweep must follow immediately."""
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


def test_lanes_share_one_statement_that_finds_their_work(service, prepare_version):
    lanes = ("claims", "rescoring", "checks", "organizers")
    idle = DueWork(service.database, seconds=HANG_SECONDS)
    with recorded(service.database) as sent:
        assert [idle.has(lane) for lane in lanes] == [False] * 4
    assert sent.count == 1 + (service.database.engine.dialect.name == "postgresql")  # to read the clock
    service.now = datetime.now(UTC)
    competition = service.competition()
    claim_as_a_dead_process(service, service.submit(competition))
    service.score(service.submit(competition, seed=2))
    prepare_version(competition)
    with service.database.write() as session:
        for kind in (OrganizerJobKind.CHECK, OrganizerJobKind.SOLUTION):
            organizer_jobs.add(
                session, competition=competition, kind=kind, parameters={}, created_by=None, now=service.now
            )
    busy = DueWork(service.database, seconds=HANG_SECONDS)
    assert [busy.has(lane) for lane in lanes] == [True] * 4


def test_lanes_have_no_work_while_the_database_is_unavailable(service, tmp_path: Path):
    due = DueWork(empty := Database(f"sqlite:///{tmp_path / 'empty.db'}"), seconds=HANG_SECONDS)
    with pytest.raises(OperationalError):
        due.has("checks")
    assert not due.has("organizers")  # no further attempt
    empty.dispose()

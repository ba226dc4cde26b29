"""The sweeper: forks, claims of dead processes, ends of turns; for scoring, see tests/faults."""

import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import psutil
import pytest
from sqlalchemy import select, true

from grader.db import Database
from grader.models import JobState, OrganizerJobKind, ScoringJob, SubmissionStatus
from grader.services.site import organizer_jobs
from grader.services.submissions import scoring_jobs as jobs
from grader.worker import processes
from grader.worker import sweeper as module
from grader.worker.lanes import Lane, Turn, all_lanes
from grader.worker.sweeper import Sweeper
from tests.fixtures.patience import HANG_SECONDS, eventually
from tests.fixtures.statements import recorded

pytestmark = pytest.mark.system
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def sweep(sweeper, until):
    """Run a sweeper until a condition holds; it forks, so this process must have no other threads."""
    end = time.monotonic() + HANG_SECONDS
    while not until():
        assert time.monotonic() < end
        for lane, subject in sweeper._due():
            sweeper._fork(lane, subject)
        sweeper._wait(0.05)
    sweeper.stop()
    sweeper.run()


def name_of_one_that_died():
    """Return the holder name of a killed process."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = psutil.Process(process.pid).create_time()
        process.kill()
    return f"{processes.machine()}/{process.pid}/{started:.2f}"


def is_scored(service, accepted):
    return service.submission(accepted).status is SubmissionStatus.SCORED


def test_job_of_a_dead_process_is_scored_before_the_next_sweep(service):
    """The next sweep would be an hour later."""
    service.now = datetime.now(UTC)
    never = {"sweep_after_seconds": 3600.0}
    settings = service.settings.model_copy(update=never)
    sweeper = Sweeper(settings, all_lanes(settings))
    sweeper._due()
    accepted = service.submit(service.competition())
    hour, holder = timedelta(hours=1), name_of_one_that_died()
    with service.database.write() as session:
        assert jobs.claim(session, job_id=accepted.job_ids[0], lease=hour, now=service.now, holder=holder)
    sweep(sweeper, lambda: is_scored(service, accepted))


def test_no_connection_is_open_at_a_fork_and_forked_processes_open_their_own(service, tmp_path, monkeypatch):
    """A shared connection would mix the statements of two processes, and a shared SQLite file its locks."""
    main = psutil.Process()

    def connected() -> set[Any]:
        files = {each.path for each in main.open_files() if each.path.endswith(".db")}
        return files | {each.fd for each in main.net_connections("all")}

    def run(turn: Turn) -> int:
        with turn.database.read() as session:
            (tmp_path / f"{os.getpid()}").write_text(str(session.scalar(select(1))))
        return 0

    service.database.dispose()
    before = connected()
    lane = Lane("test", run, lambda _: true(), 0.0, at_once=3)
    sweeper = Sweeper(service.settings, [lane])
    seen: list[set[Any]] = []
    fork = sweeper._fork

    def watched(*arguments):
        fork(*arguments)
        seen.append(connected() - before)

    monkeypatch.setattr(sweeper, "_fork", watched)
    sweep(sweeper, lambda: len(list(tmp_path.glob("[0-9]*"))) > 5)
    assert len(seen) > 5 and not any(seen)
    assert {path.read_text() for path in tmp_path.glob("[0-9]*")} == {"1"}


@on_sqlite
def test_failing_lane_and_missing_heartbeat_folder_do_not_end_the_loop(service, tmp_path, caplog):
    ran = tmp_path / "ran"

    def fail(_: Turn) -> int:
        raise ValueError("no")

    lanes = [
        Lane("bad", fail, lambda _: true(), 0.0),
        Lane("good", lambda _: ran.write_text("yes"), lambda _: true(), 0.0),
    ]
    sweep(Sweeper(service.settings, lanes), ran.exists)
    heartbeat = tmp_path / "later" / "alive"
    sweeper = Sweeper(service.settings, lanes, heartbeat=heartbeat)
    threading.Timer(0.5, sweeper.stop).start()
    sweeper.run()
    assert "the sweeper could not look for work" in caplog.text.lower()


def test_heartbeat_is_touched_only_when_the_database_responds(service, tmp_path):
    heartbeat = tmp_path / "alive"
    for url, exists in ((f"sqlite:///{tmp_path / 'empty.db'}", False), (None, True)):
        sweeper = Sweeper(service.settings, all_lanes(service.settings), heartbeat=heartbeat)
        if url:
            sweeper._database = Database(url)
        sweeper._look_at = dict.fromkeys(sweeper._look_at, float("inf"))
        threading.Timer(0.3, sweeper.stop).start()
        sweeper.run()
        assert heartbeat.exists() == exists


def test_one_statement_finds_the_work_of_the_frequent_lanes(service, prepare_version):
    often = ("live", "python", "rescoring", "checks", "organizers", "statistics")
    lanes = [each for each in all_lanes(service.settings) if each.name in often]
    with recorded(service.database) as sent:
        sweeper = Sweeper(service.settings, lanes)
        sweeper._database = service.database
        assert sweeper._due() == []
    assert sent.count == 1 + (service.database.engine.dialect.name == "postgresql")  # to read the clock
    service.now = datetime.now(UTC) - timedelta(minutes=1)
    competition = service.competition()
    service.score(service.submit(competition))
    prepare_version(competition)
    service.submit(competition, seed=2)
    kinds = (OrganizerJobKind.CHECK, OrganizerJobKind.SETTINGS, OrganizerJobKind.DATA)
    with service.database.write() as session:
        for kind, is_python in zip(kinds, (False, True, False), strict=True):
            about = {"competition": competition, "kind": kind, "is_python": is_python}
            organizer_jobs.add(session, now=service.now, **about)
    sweeper = Sweeper(service.settings, lanes)
    found = {lane.name: subject for lane, subject in sweeper._due()}
    sweeper._database.dispose()
    assert found.keys() == {"live", "python", "rescoring", "checks", "organizers"}
    assert found["python"] == ("user", 0)


@on_sqlite
def test_metrics_written_in_python_run_while_the_calendar_does(service):
    service.competition(closes_at=service.now + timedelta(days=1))
    later = service.now + timedelta(days=3650)
    lanes = {each.name: each for each in all_lanes(service.settings)}
    with service.database.read() as session:
        running = lanes["calendar"].take(session, later, busy=[])
        assert running
        assert lanes["python"].take(session, later, busy=[running]) is None


@on_sqlite
def test_stopped_sweeper_kills_slow_turns_and_frees_their_claims(service, tmp_path):
    """The job can be claimed at once, as if its lease had ended."""
    service.now = datetime.now(UTC)
    accepted = service.submit(service.competition())

    def claim(turn: Turn) -> int:
        with turn.database.write() as session:
            jobs.claim(
                session,
                job_id=accepted.job_ids[0],
                lease=timedelta(hours=1),
                now=service.now,
                holder=processes.holder_name(),
            )
        time.sleep(HANG_SECONDS)
        return 0

    sweeper = Sweeper(service.settings, [Lane("test", claim, lambda _: true(), 3600)])
    module_grace, module.STOP_GRACE_SECONDS = module.STOP_GRACE_SECONDS, 0
    try:
        sweep(sweeper, lambda: job(service).state is JobState.CLAIMED)
    finally:
        module.STOP_GRACE_SECONDS = module_grace
    assert job(service).lease_until <= datetime.now(UTC)


def job(service):
    with service.database.read() as session:
        return session.scalars(select(ScoringJob)).one()


@on_sqlite
def test_turn_ends_with_its_sweeper(service, tmp_path):
    program = (
        "import os, pathlib, signal, time\n"
        "from sqlalchemy import true\nfrom grader.settings import load\n"
        "from grader.worker.lanes import Lane\n"
        "from grader.worker.sweeper import Sweeper\n"
        f"path = pathlib.Path({str(tmp_path / 'pid')!r})\n"
        "run = lambda _: path.write_text(str(os.getpid())) and time.sleep(9999)\n"
        "sweeper = Sweeper(load(), [])\n"
        "sweeper._fork(Lane('test', run, lambda _: true()), None)\n"
        "while not path.exists() or not path.read_text(): time.sleep(0.01)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program], env=os.environ | service.settings.environment())
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: not psutil.pid_exists(pid), "the end of the turn")

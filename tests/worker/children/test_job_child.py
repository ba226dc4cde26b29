"""Job processes: memory and time limits, restarts, orphans, organizers' jobs."""

import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from grader.models import JobState, OrganizerJob, SubmissionStatus
from grader.services.site import organizer_jobs
from grader.services.site.log import Actor
from grader.services.solutions import check_jobs
from grader.services.solutions.check_jobs import UploadedFile
from grader.worker.children.job_child import JobChild
from grader.worker.sweeper import Sweeper
from tests.fixtures.guarded import has_ended
from tests.fixtures.patience import HANG_SECONDS, eventually

pytestmark = pytest.mark.system
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

GREEDY = """
from grader.worker.process.ending import limit_memory
limit_memory(600)
try:
    bytearray(2 << 30)
except MemoryError:
    print("refused")
"""
FRUGAL = """
import resource
from grader.worker.process.ending import keep_freed_memory
keep_freed_memory()
def use() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    pieces = [b"1" * (8 << 20) for _ in range(4)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(use(), use())
"""
ENDLESS = (
    "from grader.worker.process.ending import end_process_after; end_process_after(1); sum(range(10**12))"
)
SCORING = """
import os, psutil, signal
from functools import partial
from grader.settings import load
from grader.worker.children.job_child import JobChild
from grader.worker.children.job_program import main
from grader.worker.process.child import Nursery
child = JobChild(load(), {nursery})
child.score(0)
print(psutil.Process().children(recursive=True)[-1].pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
WORKING = """
import os, signal, sys
from grader.worker.process.child import AnsweringProcess
end = 'from grader.worker.children.job_program import end_with_parent as f; f()'
child = AnsweringProcess([sys.executable, '-c', end], environment=os.environ)
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def python(program: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        text=True,
        timeout=HANG_SECONDS,
    )


@pytest.fixture
def job(service, solution_csv: Callable[..., bytes]) -> OrganizerJob:
    """A corrected solution that is waiting for its check."""
    competition = service.competition()
    blob = service.storage.put(solution_csv(seed=2))
    with service.database.write() as session:
        return check_jobs.add(
            session,
            competition=competition,
            file=UploadedFile.of("solution.csv", blob),
            actor=Actor.shell(),
            now=service.now,
        )


def wait_for(service, job: OrganizerJob, state: JobState) -> OrganizerJob:
    def found() -> OrganizerJob | None:
        with service.database.read() as session:
            row = session.get_one(OrganizerJob, job.id)
        return row if row.state is state else None

    return eventually(found, f"job {job.id} in the state {state}")


def scoring_processes() -> list[psutil.Process]:
    children = psutil.Process().children()
    return [child for child in children if "grader.worker.children.job_program" in child.cmdline()]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="Only glibc has these parameters.")
def test_memory_of_a_file_is_reused_for_the_next_one():
    first, second = map(int, python(FRUGAL).stdout.split())
    assert first > 4000 and second < 100


def test_allocation_beyond_the_memory_limit_fails():
    assert python(GREEDY).stdout == "refused\n"


def test_process_ends_at_its_time_limit_even_inside_one_call():
    assert python(ENDLESS).returncode < 0


@on_sqlite
@pytest.mark.parametrize(
    "program",
    [SCORING.format(nursery=None), SCORING.format(nursery="Nursery(partial(main, load()))"), WORKING],
    ids=["scoring", "scoring in a forked process", "an organizers' job"],
)
def test_child_ends_with_its_parent(service, program: str):
    pid = int(python(program, service.settings.environment()).stdout)
    eventually(lambda: has_ended(pid), "the end of the process")


@on_sqlite
def test_child_scores_consecutive_jobs_and_is_restarted_after_death(service):
    competition = service.competition()
    accepted = [service.submit(competition, seed=seed) for seed in range(3)]
    with closing(JobChild(service.settings)) as child:
        assert child.score(accepted[0].job_ids[0])
        [process] = scoring_processes()
        assert child.score(accepted[1].job_ids[0])
        process.kill()
        process.wait()
        assert child.score(accepted[2].job_ids[0])
    assert scoring_processes() == []
    assert {service.submission(each).status for each in accepted} == {SubmissionStatus.SCORED}


@on_sqlite
def test_sweeper_runs_a_waiting_check_in_a_separate_process(service, job: OrganizerJob):
    stop = threading.Event()
    sweeper = threading.Thread(target=Sweeper(service.settings, service.database).run, args=(stop,))
    sweeper.start()
    try:
        done = wait_for(service, job, JobState.DONE)
    finally:
        stop.set()
        sweeper.join()
    assert done.result["changes"]["rows"] > 0
    assert done.attempt_count == 1


@on_sqlite
def test_job_of_a_killed_process_can_be_claimed_again(service, job: OrganizerJob):
    blob = next(Path(service.settings.data_dir).rglob(job.parameters["file"]["sha256"]))
    kept = blob.read_bytes()
    blob.unlink()
    os.mkfifo(blob)  # Opening the FIFO blocks.
    child = JobChild(service.settings)
    outcome: list[bool] = []
    lane = threading.Thread(target=lambda: outcome.append(child.organize(job.id)))
    lane.start()
    try:
        wait_for(service, job, JobState.CLAIMED)
    finally:
        child._child.process.signal_all(signal.SIGKILL)  # type: ignore[union-attr]
        lane.join()
    assert outcome == [False]
    blob.unlink()
    blob.write_bytes(kept)
    with service.database.write() as session:
        # The process extended the lease according to today's clock.
        now = service.now + timedelta(days=36_500)
        again = organizer_jobs.claim(session, job_id=job.id, now=now)
    assert again is not None and again.attempt == 2

"""The sweeper's lane for organizers' jobs: real processes that do them, and that may die of them."""

import os
import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from grader.models import JobState, OrganizerJob
from grader.services.audit.log import Actor
from grader.services.jobs import organizer_jobs
from grader.services.solutions import checks
from grader.services.solutions.checks import UploadedFile
from grader.worker.children.job_child import JobChild
from grader.worker.sweeper import Sweeper
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.system, pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)]


@pytest.fixture
def job(service, solution_csv: Callable[..., bytes]) -> OrganizerJob:
    """A corrected solution that waits for its check."""
    competition = service.competition()
    blob = service.storage.put(solution_csv(seed=2))
    with service.database.write() as session:
        return checks.add(
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


def test_the_sweeper_has_a_waiting_check_done_in_a_process_of_its_own(service, job: OrganizerJob):
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


def test_a_process_that_did_its_job_ends_well(service, job: OrganizerJob):
    assert JobChild(service.settings).organize(job.id)
    assert wait_for(service, job, JobState.DONE).attempt_count == 1


def test_a_process_that_is_killed_leaves_the_job_to_the_next(service, job: OrganizerJob):
    blob = next(Path(service.settings.data_dir).rglob(job.parameters["file"]["sha256"]))
    kept = blob.read_bytes()
    blob.unlink()
    os.mkfifo(blob)  # whoever opens it waits
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
        now = service.now + timedelta(days=36_500)  # the process extended the lease by the clock of today
        again = organizer_jobs.claim(session, job_id=job.id, now=now)
    assert again is not None and again.attempt == 2

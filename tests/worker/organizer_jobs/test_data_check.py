"""Expensive data files in a real child process with its usual limits."""

import gzip
import os
import signal
import threading
from pathlib import Path

import pytest
from sqlalchemy import select, update

from grader.models import Competition, DataCheckState, DataFile, JobState, OrganizerJob
from grader.services.site.log import Actor
from grader.services.solutions import data_checks as checks
from grader.services.solutions import data_files as files
from grader.worker.children.job_child import JobChild
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.system]


@pytest.fixture
def competition(service) -> Competition:
    made: Competition = service.competition()
    return made


def add(service, competition: Competition, data: bytes) -> OrganizerJob:
    blob = service.storage.put(data)
    with service.database.write() as session:
        files.add(session, competition=competition, name="x", blob=blob, actor=Actor.shell(), now=service.now)
        job: OrganizerJob = session.scalars(select(OrganizerJob)).one()
    return job


def checked(service, competition: Competition, data: bytes, **settings) -> DataFile:
    """Check a file in a separate child process."""
    job = add(service, competition, data)
    assert JobChild(service.settings.model_copy(update=settings)).organize(job.id)
    return found(service, competition)


def found(service, competition: Competition) -> DataFile:
    with service.database.read() as session:
        return files.get(session, competition=competition, name="x")


def of_one_line(value: bytes, count: int) -> bytes:
    """Return JSON Lines with one long list, which needs much more memory than its text."""
    return gzip.compress(b"[]\n[" + b",".join([value] * count) + b"]\n", compresslevel=1)


@pytest.mark.long
def test_file_that_exceeds_its_memory_limit_is_held_back_with_a_reason(service, competition: Competition):
    """Use a line whose values need 1 GB: more than the file's limit of 512 MB, less than the process's."""
    file = checked(service, competition, of_one_line(b"0", 8_000_000), scoring_memory_mb=8192)
    assert file.check_state is DataCheckState.HELD
    assert checks.found_in(file).unopened == ("x was not checked: reading it takes too much memory",)


@pytest.mark.long
def test_file_within_its_memory_limit_is_checked(service, competition: Competition):
    assert checked(service, competition, of_one_line(b"[]", 1_500_000)).check_state is DataCheckState.PASSED


@pytest.mark.parametrize("lost_before", [2, pytest.param(0, marks=pytest.mark.long)])
def test_file_is_held_back_if_every_check_process_is_killed(
    service, competition: Competition, lost_before: int
):
    """End each process with SIGALRM, as at the time limit.

    Starting a process takes a long time, so in the short run two are recorded as already lost.
    """
    job = add(service, competition, b"id,text\n")
    blob = next(Path(service.settings.data_dir).rglob(found(service, competition).sha256))
    blob.unlink()
    os.mkfifo(blob)  # Opening the FIFO blocks.
    with service.database.write() as session:
        session.execute(update(OrganizerJob).values(attempt_count=lost_before))
    for attempt in range(lost_before + 1, 4):
        _ended_by_its_alarm(service, job, attempt)
        with service.database.write() as session:
            session.execute(update(OrganizerJob).values(lease_until=service.now))
    assert JobChild(service.settings).organize(job.id)  # No attempts are left.
    with service.database.write() as session:
        assert session.get_one(OrganizerJob, job.id).state is JobState.FAILED
        assert checks.request_all(session, now=service.now) == 0
    file = found(service, competition)
    assert file.check_state is DataCheckState.HELD
    assert "its check failed (incident " in checks.found_in(file).unopened[0]


def _ended_by_its_alarm(service, job: OrganizerJob, attempt: int):
    child = JobChild(service.settings)
    outcome: list[bool] = []
    lane = threading.Thread(target=lambda: outcome.append(child.organize(job.id)))
    lane.start()

    def is_claimed() -> bool:
        with service.database.read() as session:
            return session.get_one(OrganizerJob, job.id).attempt_count == attempt

    try:
        eventually(is_claimed, "the claim")
    finally:
        child._child.process.signal_all(signal.SIGALRM)  # type: ignore[union-attr]
        lane.join()
    assert outcome == [False]

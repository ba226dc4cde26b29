"""Data files that cost too much, looked through by the real child, under its real bounds."""

import gzip
import io
import os
import signal
import threading
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import select, update

from grader.models import Competition, DataCheckState, DataFile, JobState, OrganizerJob
from grader.services.audit.log import Actor
from grader.services.data_files import checks, files
from grader.worker.children.job_child import JobChild
from tests.fixtures.patience import eventually

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


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
    """Have a file looked through by a child of its own."""
    job = add(service, competition, data)
    assert JobChild(service.settings.model_copy(update=settings)).organize(job.id)
    return found(service, competition)


def found(service, competition: Competition) -> DataFile:
    with service.database.read() as session:
        return files.get(session, competition=competition, name="x")


def of_empty_lists(count: int) -> bytes:
    """A document that takes 64 bytes of memory for each three of its own, and packed next to nothing."""
    return gzip.compress(b"[" + b"[]," * count + b"[]]", compresslevel=1)


def of_many_files(count: int) -> bytes:
    """An archive whose files cost time and hold nothing."""
    packed = io.BytesIO()
    inner = gzip.compress(gzip.compress(b"a,b\n1,2\n"))
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(count):
            archive.writestr(str(number), inner)
    return packed.getvalue()


def test_a_file_that_takes_more_than_its_memory_is_held_and_says_so(service, competition: Competition):
    """It would find room in the memory of its process: 700 MB for the file, where 512 may be used."""
    file = checked(service, competition, of_empty_lists(10_000_000), scoring_memory_mb=8192)
    assert file.check_state is DataCheckState.HELD
    assert checks.found_in(file).unopened == ("x was not checked: it takes too much memory to be read",)


def test_a_file_that_finds_room_in_its_memory_is_looked_through(service, competition: Competition):
    assert checked(service, competition, of_empty_lists(1_500_000)).check_state is DataCheckState.PASSED


def test_a_small_file_has_more_time_than_its_share(service, competition: Competition):
    """30 kB would have two thousandths of a second."""
    file = checked(service, competition, of_many_files(200))
    assert file.check_state is DataCheckState.PASSED
    assert file.findings["tables"] == 201


@pytest.mark.long
def test_a_check_that_runs_out_of_its_time_leaves_the_file_held(service, competition: Competition):
    file = checked(service, competition, of_many_files(199_000))
    assert file.check_state is DataCheckState.HELD
    told = checks.found_in(file).unopened
    assert any("cannot be checked within 20 seconds of processor time" in each for each in told), told


@pytest.mark.parametrize("lost_before", [2, pytest.param(0, marks=pytest.mark.long)])
def test_a_check_whose_process_is_ended_every_time_leaves_the_file_held(
    service, competition: Competition, lost_before: int
):
    """SIGALRM is what ends a process whose time limit is over, whatever it is busy with.

    Each process takes long to start: in the short run two were lost before, as the table says.
    """
    job = add(service, competition, b"id,text\n")
    blob = next(Path(service.settings.data_dir).rglob(found(service, competition).sha256))
    blob.unlink()
    os.mkfifo(blob)  # whoever opens it waits
    with service.database.write() as session:
        session.execute(update(OrganizerJob).values(attempt_count=lost_before))
    for attempt in range(lost_before + 1, 4):
        _ended_by_its_alarm(service, job, attempt)
        with service.database.write() as session:
            session.execute(update(OrganizerJob).values(lease_until=service.now))
    assert JobChild(service.settings).organize(job.id)  # finds that there is nothing more to try
    with service.database.write() as session:
        assert session.get_one(OrganizerJob, job.id).state is JobState.FAILED
        assert checks.request_all(session, now=service.now) == 0
    file = found(service, competition)
    assert file.check_state is DataCheckState.HELD
    assert "its check broke (incident " in checks.found_in(file).unopened[0]


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

"""Expensive data files in a real child process with its usual limits."""

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select, update

from grader.models import Competition, DataCheckState, DataFile, JobState, OrganizerJob
from grader.services.site.leased_rows import ORGANIZERS
from grader.services.site.log import Actor
from grader.services.solutions import data_checks as checks
from grader.services.solutions import data_files as files
from grader.settings import Settings
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
    assert start(service.settings.model_copy(update=settings)).wait() == 0, job
    return found(service, competition)


def start(settings: Settings) -> subprocess.Popen[bytes]:
    """Start a turn of the lane for organizers' jobs in a new process."""
    program = "from grader.settings import load; from grader.worker.lanes import Turn, organize; "
    program += "organize('organizers', Turn(load()))"
    return subprocess.Popen([sys.executable, "-c", program], env=os.environ | settings.environment())


def found(service, competition: Competition) -> DataFile:
    with service.database.read() as session:
        return files.get(session, competition=competition, name="x")


def of_one_line(value: bytes, count: int) -> bytes:
    """Return JSON Lines with one long list, which needs much more memory than its text."""
    line = b'{"id": "a", "text": [' + b",".join([value] * count) + b"]}\n"
    return gzip.compress(b'{"id": "b", "text": []}\n' + line, compresslevel=1)


@pytest.mark.long
def test_file_that_exceeds_its_memory_limit_is_held_back_with_a_reason(service, competition: Competition):
    """Use a line whose values need 1 GB: more than the file's limit of 512 MB, less than the process's."""
    file = checked(service, competition, of_one_line(b"[0]", 9_000_000), scoring_memory_mb=8192)
    assert file.check_state is DataCheckState.HELD
    assert checks.found_in(file).unopened == ("x was not checked: reading it takes too much memory",)


@pytest.mark.long
def test_file_within_its_memory_limit_is_checked(service, competition: Competition):
    assert checked(service, competition, of_one_line(b"[]", 1_500_000)).check_state is DataCheckState.PASSED


def test_file_is_held_back_if_every_check_process_is_killed(service, competition: Competition):
    """End the last process with SIGALRM, as at the time limit."""
    job = add(service, competition, b"id,text\n")
    blob = next(Path(service.settings.data_dir).rglob(found(service, competition).sha256))
    blob.unlink()
    os.mkfifo(blob)  # Opening the FIFO blocks.
    with service.database.write() as session:
        session.execute(update(OrganizerJob).values(attempt_count=ORGANIZERS.lost_leases - 1))

    def is_claimed() -> bool:
        with service.database.read() as session:
            return session.get_one(OrganizerJob, job.id).attempt_count == ORGANIZERS.lost_leases

    with start(service.settings) as process:
        eventually(is_claimed, "the claim")
        process.send_signal(signal.SIGALRM)
    assert process.returncode == -signal.SIGALRM
    with service.database.write() as session:
        session.execute(update(OrganizerJob).values(lease_until=service.now))
    assert start(service.settings).wait() == 0  # No attempts are left.
    with service.database.write() as session:
        assert session.get_one(OrganizerJob, job.id).state is JobState.FAILED
        assert checks.request_due(session, now=service.now) == 0
    file = found(service, competition)
    assert file.check_state is DataCheckState.HELD
    assert "its check failed (incident " in checks.found_in(file).unopened[0]

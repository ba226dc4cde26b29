"""Expensive data files in a real child process with its usual limits."""

import gzip
import os
import subprocess
import sys

import pytest
from sqlalchemy import select

from grader.models import Competition, DataCheckState, OrganizerJob
from grader.services.site.log import Actor
from grader.services.solutions import data_checks as checks
from grader.services.solutions import data_files as files

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.system]


@pytest.fixture
def competition(service):
    made: Competition = service.competition()
    return made


def add(service, competition, data):
    blob = service.storage.put(data)
    with service.database.write() as session:
        files.add(session, competition=competition, name="x", blob=blob, actor=Actor.shell(), now=service.now)
        job: OrganizerJob = session.scalars(select(OrganizerJob)).one()
    return job


def checked(service, competition, data, **settings):
    """Check a file in a separate child process."""
    job = add(service, competition, data)
    assert start(service.settings.model_copy(update=settings)).wait() == 0, job
    return found(service, competition)


def start(settings):
    """Start a turn of the lane for organizers' jobs in a new process."""
    program = "from grader.settings import load; from grader.worker.lanes import Turn, all_lanes; "
    program += "[lane.run(Turn(load())) for lane in all_lanes(load()) if lane.name == 'organizers']"
    return subprocess.Popen([sys.executable, "-c", program], env=os.environ | settings.environment())


def found(service, competition):
    with service.database.read() as session:
        return files.get(session, competition=competition, name="x")


def of_one_line(value, count):
    """Return JSON Lines with one long list, which needs much more memory than its text."""
    line = b'{"id": "a", "text": [' + b",".join([value] * count) + b"]}\n"
    return gzip.compress(b'{"id": "b", "text": []}\n' + line, compresslevel=1)


@pytest.mark.long
def test_file_that_exceeds_its_memory_limit_is_held_back_with_a_reason(service, competition):
    """Use a line whose values need 1 GB."""
    file = checked(service, competition, of_one_line(b"[0]", 9_000_000), scoring_memory_mb=1024)
    assert file.check_state is DataCheckState.HELD
    assert "MemoryError" in checks.findings_of(file).sentences[0]


@pytest.mark.long
def test_file_within_its_memory_limit_is_checked(service, competition):
    assert checked(service, competition, of_one_line(b"[]", 1_500_000)).check_state is DataCheckState.PASSED

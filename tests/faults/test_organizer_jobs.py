"""Process deaths at each step of an organizers' job: exactly one stored result."""

import pytest
from sqlalchemy import update

from grader.models import DataCheckState, DataFile, OrganizerJob
from grader.services.audit.log import Actor
from grader.services.data_files import checks, files
from grader.worker.organizer_jobs.worker import OrganizerWorker
from tests.fixtures.programs import DO_ORGANIZERS_JOB

pytestmark = [
    pytest.mark.parametrize("database_url", ["sqlite"], indirect=True),
]
TEAMS = ("ada", "bob", "cyd")


def test_data_file_whose_check_was_killed_is_held_back_and_checked_again(service, processes, solution_csv):
    competition = service.competition()
    for name, data in {"a.csv": solution_csv(), "b.csv": b"id,text\nr0,hello\n"}.items():
        blob = service.storage.put(data)
        with service.database.write() as session:
            files.add(
                session, competition=competition, name=name, blob=blob, actor=Actor.shell(), now=service.now
            )

    def states() -> dict[str, DataCheckState]:
        with service.database.read() as session:
            found: list[DataFile] = list(files.list_all(session, competition=competition))
        for file in found:
            assert files.is_given_out(competition, file) == (file.check_state is DataCheckState.PASSED)
        return {file.name: file.check_state for file in found}

    with service.database.read() as session:
        job = checks.newest(session, competition=competition)
    assert job is not None
    work = (*DO_ORGANIZERS_JOB, str(job.id))
    processes.crash(service.settings, *work, at="data_check.before_record")
    assert states() == {"a.csv": DataCheckState.WAITING, "b.csv": DataCheckState.WAITING}
    with service.database.write() as session:
        session.execute(update(OrganizerJob).values(lease_until=service.now))
    assert OrganizerWorker(service.settings, service.database, service.storage).run(job.id)
    assert states() == {"a.csv": DataCheckState.HELD, "b.csv": DataCheckState.PASSED}

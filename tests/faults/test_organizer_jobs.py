"""Process deaths at each step of an organizers' job: exactly one stored result."""

import pytest
from sqlalchemy import update

from grader.models import DataCheckState, DataFile, OrganizerJob
from grader.services.site.log import Actor
from grader.services.solutions import data_checks as checks
from grader.services.solutions import data_files as files
from grader.worker.organizer_jobs.worker import run_job
from tests.fixtures.programs import DO_ORGANIZERS_JOB

pytestmark = [
    pytest.mark.parametrize("database_url", ["sqlite"], indirect=True),
]
POINTS = (
    "organizer_job.after_claim",
    "data_check.before_record",
    "organizer_job.after_keep",
    "organizer_job.before_commit",
    "organizer_job.after_commit",
)


@pytest.mark.parametrize("at", POINTS)
def test_data_files_are_held_or_released_once_although_their_check_was_killed(
    service, processes, solution_csv, at
):
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
    processes.crash(service.settings, *work, at=at)
    checked = {"a.csv": DataCheckState.HELD, "b.csv": DataCheckState.PASSED}
    assert all(state in (DataCheckState.WAITING, checked[name]) for name, state in states().items())
    with service.database.write() as session:
        session.execute(update(OrganizerJob).values(lease_until=service.now))
    ran = run_job(service.settings, service.database, service.storage, job.id)
    assert ran is (at != "organizer_job.after_commit")
    assert states() == checked

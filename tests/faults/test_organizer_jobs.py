"""Process deaths at each step of an organizers' job: exactly one stored result."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from grader.models import DataCheckState, DataFile, JobState, OrganizerJob
from grader.services.audit.log import Actor
from grader.services.closing import close, verification
from grader.services.data_files import checks, files
from grader.worker.organizer_jobs.worker import OrganizerWorker
from tests.fixtures.programs import DO_ORGANIZERS_JOB

pytestmark = [
    pytest.mark.parametrize("database_url", ["sqlite"], indirect=True),
]
TEAMS = ("ada", "bob", "cyd")


@pytest.fixture
def job(service) -> OrganizerJob:
    """A pending verification of three teams' submissions."""
    competition = service.competition(closes_at=service.now + timedelta(hours=1), selection_count=1)
    for seed, name in enumerate(TEAMS):
        service.score(service.submit(competition, user=name, seed=seed))
    with service.database.write() as session:
        close.settle(session, competition=competition)
    return service.act(verification.request, competition=competition, after=timedelta(days=1))


@pytest.mark.long
def test_verification_that_dies_at_each_step_continues_and_ends_once(service, job: OrganizerJob, processes):
    def died(at: str) -> OrganizerJob:
        work = (*DO_ORGANIZERS_JOB, str(job.id))
        processes.crash(service.settings, *work, at=at)
        with service.database.write() as session:
            claimed = update(OrganizerJob).where(OrganizerJob.state == JobState.CLAIMED)
            session.execute(claimed.values(lease_until=service.now))
        with service.database.read() as session:
            return session.get_one(OrganizerJob, job.id)

    claimed = died("organizer_job.after_claim")
    assert (claimed.state, claimed.result) == (JobState.CLAIMED, {})
    kept = died("organizer_job.after_keep")
    assert (kept.state, len(kept.result["submission_ids"])) == (JobState.CLAIMED, 1)
    written = died("organizer_job.before_commit")
    assert written.state is JobState.CLAIMED
    # Results are stored at most once a second, so the third one may not be stored yet.
    assert len(written.result["submission_ids"]) in (2, 3)
    done = died("organizer_job.after_commit")
    assert (done.state, len(done.result["submission_ids"])) == (JobState.DONE, 3)
    assert done.result["differences"] == []
    assert not OrganizerWorker(service.settings, service.database, service.storage).run(job.id)


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

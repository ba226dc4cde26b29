"""An organizer's job whose process dies at each of its steps comes to its one end all the same."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from grader.models import JobState, OrganizerJob
from grader.services import closing, verification
from grader.services.audit import Actor
from grader.worker.organizer_work import OrganizerWorker

pytestmark = [
    pytest.mark.parametrize("database_url", ["sqlite"], indirect=True),
]
TEAMS = ("ada", "bob", "cyd")


@pytest.fixture
def job(service: Any) -> OrganizerJob:
    """A verification of three teams' submissions that waits."""
    competition = service.competition(closes_at=service.now + timedelta(hours=1), selection_count=1)
    for seed, name in enumerate(TEAMS):
        service.score(service.submit(competition, user=name, seed=seed))
    with service.database.write() as session:
        competition = closing.settle(session, competition=competition)
        now = service.now + timedelta(days=1)
        return verification.request(session, competition=competition, actor=Actor.shell(), now=now)


def test_a_verification_that_dies_at_each_step_goes_on_and_ends_once(
    service: Any, job: OrganizerJob, processes: Any
) -> None:
    def died(at: str) -> OrganizerJob:
        work = ("-m", "grader.worker.organizer_work", str(job.id), "WARNING")
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
    assert len(written.result["submission_ids"]) in (2, 3)  # what it found within a second is kept at once
    done = died("organizer_job.after_commit")
    assert (done.state, len(done.result["submission_ids"])) == (JobState.DONE, 3)
    assert done.result["differences"] == []
    assert not OrganizerWorker(service.settings, service.database, service.storage).run(job.id)

"""A verification in a process that is killed: what was verified is not verified again."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from grader.models import JobState, OrganizerJob
from grader.services.audit.log import Actor
from grader.services.closing import close, verification
from grader.worker.organizer_jobs.program import OrganizerWorker

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ROWS = 12_000
TEAMS = ("ada", "bob", "cyd", "dan")


def job_of(service: Any, job_id: int) -> OrganizerJob:
    with service.database.read() as session:
        found: OrganizerJob = session.get_one(OrganizerJob, job_id)
        return found


def requested(service: Any, solution_csv: Any) -> OrganizerJob:
    competition = service.competition(
        csv=solution_csv(ROWS), closes_at=service.now + timedelta(hours=1), selection_count=1
    )
    for seed, name in enumerate(TEAMS):
        service.score(service.submit(competition, user=name, rows=ROWS, seed=seed))
    with service.database.write() as session:
        competition = close.settle(session, competition=competition)
        return verification.request(
            session,
            competition=competition,
            actor=Actor.shell(),
            now=service.now + timedelta(days=1),
        )


def killed_after_one(service: Any, job: OrganizerJob) -> list[int]:
    """Do the job in a process, kill it when something is verified, and return what was kept."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "grader.worker.organizer_jobs.program", str(job.id), "INFO"],
        stdin=subprocess.PIPE,
        env=os.environ | service.settings.environment(),
    ) as process:
        while not job_of(service, job.id).result:
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    kept: list[int] = job_of(service, job.id).result["submission_ids"]
    return kept


def test_a_killed_verification_is_gone_on_with(
    service: Any, solution_csv: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = requested(service, solution_csv)
    kept = killed_after_one(service, job)
    assert 1 <= len(kept) < len(TEAMS)
    with service.database.write() as session:
        session.execute(update(OrganizerJob).values(lease_until=service.now))
    recounted: list[int] = []
    recount = verification.verify_scores

    def counted(receipt: Any, **options: Any) -> Any:
        recounted.append(receipt.submission)
        return recount(receipt, **options)

    monkeypatch.setattr(verification, "verify_scores", counted)
    OrganizerWorker(service.settings, service.database, service.storage).run(job.id)
    done = job_of(service, job.id)
    assert done.state is JobState.DONE
    assert done.result["differences"] == []
    assert sorted(kept + recounted) == done.result["submission_ids"]
    assert len(done.result["submission_ids"]) == len(TEAMS)

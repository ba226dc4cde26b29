"""Organizers' jobs in a worker: results, problems, exceptions, killed processes."""

import time
from datetime import timedelta
from typing import Any

import pytest

from grader.errors import OrganizerError
from grader.files import FileProblem, FileRejected
from grader.models import JobState, OrganizerJob, OrganizerJobKind
from grader.services.site import organizer_jobs
from grader.services.site.leased_rows import LOST_LEASES
from grader.worker.organizer_jobs.context import Work
from grader.worker.organizer_jobs.worker import HANDLERS, run_job

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
pytestmark = on_sqlite


def add(service, competition, **parameters):
    with service.database.write() as session:
        return organizer_jobs.add(
            session,
            competition=competition,
            kind=OrganizerJobKind.CHECK,
            parameters=parameters,
            now=service.now,
        )


def run(service, job, handler, lease=organizer_jobs.LEASE):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(HANDLERS, OrganizerJobKind.CHECK, handler)
        patch.setattr(organizer_jobs, "LEASE", lease)
        run_job(service.settings, service.database, service.storage, job.id)
    with service.database.read() as session:
        found: OrganizerJob = session.get_one(OrganizerJob, job.id)
        return found


def test_handlers_return_value_is_the_result(service):
    def handler(work: Work) -> dict[str, Any]:
        work.report_progress(1, 2, "Reading the file")
        return {"seen": work.claim.parameters["file"]}

    job = run(service, add(service, service.competition(), file="abc"), handler)
    assert (job.state, job.result) == (JobState.DONE, {"seen": "abc"})
    assert job.progress == {"done": 1, "total": 2, "words": "Reading the file"}


@pytest.mark.parametrize(
    ("error", "state", "messages"),
    [
        (OrganizerError("No row is Public."), JobState.REJECTED, ["No row is Public."]),
        (FileRejected(FileProblem("empty_file", "Empty.")), JobState.REJECTED, ["Empty."]),
        (ZeroDivisionError(), JobState.WAITING, []),
    ],
)
def test_problems_are_stored_and_other_exceptions_are_retried(service, error, state, messages):
    def handler(work: Work) -> dict[str, Any]:
        raise error

    job = run(service, add(service, service.competition()), handler)
    assert (job.state, [problem["message"] for problem in job.problems]) == (state, messages)
    assert job.error_count == (state is JobState.WAITING)


def test_work_longer_than_the_lease_keeps_it(service):
    lease = timedelta(seconds=0.4)

    def handler(work: Work) -> dict[str, Any]:
        time.sleep(3 * lease.total_seconds())
        return {"slow": True}

    job = run(service, add(service, service.competition()), handler, lease=lease)
    assert (job.state, job.attempt_count) == (JobState.DONE, 1)


def test_dismissed_job_stops_its_work(service):
    competition = service.competition()
    job = add(service, competition)

    def handler(work: Work) -> dict[str, Any]:
        with service.database.write() as session:
            mine = organizer_jobs.get(session, competition=competition, job_id=job.id)
            organizer_jobs.dismiss(session, job=mine, now=service.now)
        work.report_progress(1, 2, "Reading the file")
        raise AssertionError("the dismissed job continued")

    assert run(service, job, handler).state is JobState.FAILED


def test_attempts_that_stored_results_are_not_counted(service):
    def handler(work: Work) -> dict[str, Any]:
        work.has_stored()
        raise SystemExit("killed")  # Nothing is recorded, as after kill -9.

    job = add(service, service.competition())
    for _ in range(2 * LOST_LEASES):
        with pytest.raises(SystemExit):
            run(service, job, handler, lease=timedelta())
    assert run(service, job, lambda _: {"done": True}).state is JobState.DONE

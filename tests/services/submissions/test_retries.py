"""Retries after internal errors, and e-mails about results."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import JobState, Mail, ScoringJob, SubmissionStatus
from grader.services.site.leased_rows import Breakdown
from grader.services.submissions import scoring_jobs as jobs
from grader.services.submissions import scoring_queue

pytestmark = pytest.mark.both_databases

HOUR = timedelta(hours=1)
LEASE = timedelta(seconds=40)


def break_job(service, job_id, *, after=timedelta()):
    """Make scoring fail once."""
    with service.database.write() as session:
        now = service.now + after
        claim = jobs.claim(session, job_id=job_id, lease=LEASE, now=now)
        jobs.record(
            session, job_ids=[job_id], token=claim.token, outcomes={job_id: Breakdown("7F3A")}, now=now
        )


def retry(service, *, after):
    with service.database.write() as session:
        return scoring_queue.retry_failed(session, now=service.now + after)


def mails(service):
    with service.database.read() as session:
        rows = session.scalars(select(Mail).order_by(Mail.id))
        return [(mail.to_address, mail.subject, mail.body) for mail in rows]


def test_job_that_failed_by_an_internal_error_is_retried_hourly_for_a_day(service):
    accepted = service.submit(service.competition())
    (job_id,) = accepted.job_ids
    service.fail(accepted)
    assert service.submission(accepted).status is SubmissionStatus.FAILED
    assert retry(service, after=2.5 * HOUR) == 0
    assert retry(service, after=3 * HOUR) == 1
    with service.database.read() as session:
        waits = session.get_one(ScoringJob, job_id)
        assert (waits.error_count, waits.available_at) == (2, service.now + 3 * HOUR)
    # The submission's status stays `failed` until an attempt succeeds.
    assert service.submission(accepted).status is SubmissionStatus.FAILED
    break_job(service, job_id, after=3 * HOUR)
    with service.database.read() as session:
        assert session.get_one(ScoringJob, job_id).state is JobState.FAILED
    assert retry(service, after=24 * HOUR) == 0
    assert retry(service, after=4 * HOUR) == 1
    service.run(job_id)
    again = service.submission(accepted)
    assert (again.status, again.slot_day) == (SubmissionStatus.SCORED, service.now.date())


def test_job_that_lost_its_leases_can_be_retried_and_lost_again(service):
    accepted = service.submit(service.competition())
    (job_id,) = accepted.job_ids
    with service.database.write() as session:
        job = session.get_one(ScoringJob, job_id)
        job.state, job.finished_at, job.attempt_count = JobState.FAILED, service.now, 10
        job.incident = "0badcafe"
    assert retry(service, after=HOUR) == 1
    now = service.now + HOUR
    with service.database.write() as session:
        assert jobs.claim(session, job_id=job_id, lease=LEASE, now=now)
    with service.database.write() as session:
        assert jobs.claim(session, job_id=job_id, lease=LEASE, now=now + HOUR) is None
    assert service.submission(accepted).status is SubmissionStatus.FAILED


def test_uploader_is_notified_of_the_outcome_without_a_score_and_administrators_of_a_failure(service):
    competition = service.competition()
    service.user("admin", is_admin=True)
    service.verify_addresses("ada", "admin")
    scored, failed = service.submit(competition), service.submit(competition, seed=2)
    service.score(scored, service.submit(competition, csv=b"nonsense"))
    service.fail(failed)
    told = mails(service)
    assert [(to, subject.rpartition(":")[2].strip()) for to, subject, _ in told] == [
        ("ada@example.org", "scored"),
        ("ada@example.org", "rejected"),
        ("ada@example.org", "failed"),
        ("admin@example.org", "incident 7F3A"),
    ]
    assert not any("0." in body for _, _, body in told)
    assert "Rejected: your file has 1 problem. No submission was used." in told[1][2]

"""Scoring jobs: claims, leases, tokens, results, standings, on both databases."""

from datetime import timedelta

import pytest

from grader.models import ScoringJob, Submission, SubmissionStatus
from grader.services.submissions import scoring_jobs as jobs

pytestmark = pytest.mark.both_databases

LEASE = timedelta(seconds=40)
SECOND = timedelta(seconds=1)

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def claim(service, job_id, *, after=timedelta()):
    return service.act(jobs.claim, job_id=job_id, lease=LEASE, after=after)


@pytest.fixture
def accepted(service):
    return service.submit(service.competition())


def test_oldest_pending_submission_excludes_rescorings_and_retries(service, prepare_version):
    def oldest():
        with service.database.read() as session:
            return jobs.oldest_pending(session)

    competition = service.competition()
    accepted = service.submit(competition)
    assert oldest() == service.now
    service.score(accepted)
    assert oldest() is None
    prepare_version(service.reload(competition))
    assert oldest() is None
    failed = service.submit(competition, seed=8)
    assert oldest() == service.now
    with service.database.write() as session:
        session.get_one(Submission, failed.submission.id).status = SubmissionStatus.FAILED
    assert oldest() is None


def test_job_can_be_claimed_from_its_waiting_time_or_the_end_of_its_lease(service, accepted):
    (job_id,) = accepted.job_ids
    moment = timedelta(microseconds=1)
    with service.database.write() as session:
        session.get_one(ScoringJob, job_id).available_at = service.now + 9 * SECOND

    def waits(after: timedelta, older_than: timedelta) -> bool:
        with service.database.read() as session:
            found = jobs.waiting(session, older_than=older_than, limit=10, now=service.now + after)
            return job_id in found

    for older_than in (timedelta(), 5 * SECOND):
        free_at = 9 * SECOND + older_than
        assert [waits(after, older_than) for after in (free_at - moment, free_at)] == [False, True]
    assert claim(service, job_id, after=9 * SECOND - moment) is None
    assert claim(service, job_id, after=9 * SECOND)
    end = 9 * SECOND + LEASE
    assert [waits(after, 5 * SECOND) for after in (end - moment, end)] == [False, True]
    assert claim(service, job_id, after=end - moment) is None
    assert claim(service, job_id, after=end)


@on_sqlite
def test_jobs_of_rescorings_are_not_among_the_waiting_ones_and_the_longest_waiting_is_first(
    service, prepare_version
):
    competition = service.competition()
    service.score(service.submit(competition, seed=1))
    prepare_version(service.reload(competition))
    first, second = (service.submit(competition, seed=seed).job_ids[0] for seed in (3, 4))
    with service.database.write() as session:
        session.get_one(ScoringJob, first).available_at = service.now + SECOND
    with service.database.read() as session:
        options = {"older_than": timedelta(), "now": service.now + 9 * SECOND}
        assert jobs.waiting(session, **options, limit=99) == [second, first]
        assert jobs.waiting(session, **options, limit=1) == [second]

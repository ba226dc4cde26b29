"""Shared behavior of all four job queues, on both databases."""

from datetime import timedelta

import pytest

from grader.models import JobState, Mail, OrganizerJob, OrganizerJobKind, ScoringJob
from grader.services.site import leased_rows, organizer_jobs
from grader.services.site import outbox as mail
from grader.services.site.leased_rows import (
    ERROR_PAUSES,
    FREED_AT_ONCE,
    LOST_LEASES,
    OUTAGE_PATIENCE,
    Breakdown,
    Outage,
    Rejection,
)
from grader.services.submissions import scoring_jobs as jobs

pytestmark = pytest.mark.both_databases
SECOND, MOMENT = timedelta(seconds=1), timedelta(microseconds=1)
LEASE = timedelta(seconds=40)
DEAD, ALIVE, ELSEWHERE = "here/17/1.00", "here/18/1.00", "there/17/1.00"


class JobQueue:
    lease, pause = LEASE, timedelta(seconds=10)

    def fail(self, session, claim, now):
        self.record(session, claim, Breakdown("abc"), now)

    def state(self, session, row_id):
        job = session.get_one(self.queue, row_id)
        return job.state, job.lease_until, job.token, job.error_count, job.finished_at


class ScoringQueue(JobQueue):
    queue = ScoringJob

    def add(self, service):
        return service.submit(service.competition()).job_ids[0]

    def claim(self, session, row_id, now, holder=None):
        return jobs.claim(session, job_id=row_id, lease=LEASE, now=now, holder=holder)

    def record(self, session, claim, outcome, now):
        return jobs.record(
            session, job_ids=[claim.job_id], token=claim.token, outcomes={claim.job_id: outcome}, now=now
        )

    def succeed(self, session, claim, now):
        self.record(session, claim, Rejection([]), now)


class OrganizersQueue(JobQueue):
    queue = OrganizerJob
    lease = organizer_jobs.LEASE

    def add(self, service):
        competition, kind = service.competition(), OrganizerJobKind.SETTINGS
        with service.database.write() as session:
            return organizer_jobs.add(session, competition=competition, kind=kind, now=service.now).id

    def claim(self, session, row_id, now, holder=None):
        return organizer_jobs.claim(session, job_id=row_id, now=now, holder=holder)

    def record(self, session, claim, outcome, now):
        return organizer_jobs.record(session, claim=claim, outcome=outcome, now=now)

    def succeed(self, session, claim, now):
        self.record(session, claim, {}, now)


class MailQueue:
    lease, pause = mail.LEASE, timedelta(minutes=1)

    def add(self, service):
        with service.database.write() as session:
            mail.write(session, to_address="a@example.org", subject="News", body="News", now=service.now)
            row_id: int = session.query(Mail.id).scalar()
        return row_id

    def claim(self, session, row_id, now):
        return mail.claim(session, now=now)

    def succeed(self, session, claim, now):
        mail.record_sent(session, claimed=claim, now=now)

    def fail(self, session, claim, now):
        mail.record_failed(session, claimed=claim, error="451 later", is_final=False, now=now)

    def state(self, session, row_id):
        row = session.get_one(Mail, row_id)
        return row.available_at, row.error, row.sent_at


JOBS = [ScoringQueue(), OrganizersQueue()]
ALL = [*JOBS, MailQueue()]
of_all = pytest.mark.parametrize("queue", ALL, ids=lambda queue: type(queue).__name__)
of_jobs = pytest.mark.parametrize("queue", JOBS, ids=lambda queue: type(queue).__name__)
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def row_id(service, queue):
    return queue.add(service)


def do(service, act, *what, after=timedelta(), **more):
    with service.database.write() as session:
        return act(session, *what, now=service.now + after, **more)


def state(service, queue, row_id):
    with service.database.read() as session:
        return queue.state(session, row_id)


def job_of(service, queue, row_id):
    with service.database.read() as session:
        return session.get_one(queue.queue, row_id)


@of_all
def test_claimed_row_cannot_be_claimed_again_until_its_lease_ends(service, queue, row_id):
    first = do(service, queue.claim, row_id)
    assert first is not None
    assert do(service, queue.claim, row_id) is None
    assert do(service, queue.claim, row_id, after=queue.lease - MOMENT) is None
    second = do(service, queue.claim, row_id, after=queue.lease)
    assert second is not None


@of_all
def test_holder_that_lost_its_lease_records_nothing(service, queue, row_id):
    late = do(service, queue.claim, row_id)
    current = do(service, queue.claim, row_id, after=queue.lease)
    before = state(service, queue, row_id)
    do(service, queue.fail, late, after=queue.lease)
    assert state(service, queue, row_id) == before
    # An e-mail that the server has accepted counts as sent, whichever process sent it.
    if not isinstance(queue, MailQueue):
        do(service, queue.succeed, late, after=queue.lease)
        assert state(service, queue, row_id) == before
    do(service, queue.succeed, current, after=queue.lease)
    assert state(service, queue, row_id) != before


@of_all
def test_completed_row_is_never_claimed_again(service, queue, row_id):
    claim = do(service, queue.claim, row_id)
    do(service, queue.succeed, claim)
    do(service, queue.fail, claim)
    for after in (queue.lease, timedelta(hours=20)):
        assert do(service, queue.claim, row_id, after=after) is None


@of_all
def test_failed_attempt_is_followed_by_a_pause_and_another_attempt(service, queue, row_id):
    do(service, queue.fail, do(service, queue.claim, row_id))
    assert do(service, queue.claim, row_id, after=queue.pause - MOMENT) is None
    again = do(service, queue.claim, row_id, after=queue.pause)
    assert again is not None


def fail_to_the_end(service, queue, row_id):
    pauses = ERROR_PAUSES[queue.queue]
    for attempt in range(len(pauses) + 1):
        after = timedelta(minutes=attempt)
        claim = do(service, queue.claim, row_id, after=after)
        assert job_of(service, queue, row_id).state is JobState.CLAIMED
        assert do(service, queue.record, claim, Breakdown(f"i{attempt}"), after=after)
        if attempt < len(pauses):
            assert job_of(service, queue, row_id).available_at == service.now + after + pauses[attempt]


@of_jobs
def test_last_internal_error_fails_a_job_with_its_incident(service, queue, row_id):
    fail_to_the_end(service, queue, row_id)
    job = job_of(service, queue, row_id)
    assert (job.state, job.incident, job.token) == (
        JobState.FAILED,
        f"i{len(ERROR_PAUSES[queue.queue])}",
        None,
    )
    assert do(service, queue.claim, row_id, after=timedelta(days=1)) is None


@of_jobs
def test_last_lost_lease_fails_a_job_when_it_ends_and_errors_do_not_count_as_lost(
    service, queue, row_id, caplog
):
    do(service, queue.record, do(service, queue.claim, row_id), Breakdown("abc"))
    most = LOST_LEASES
    for lost in range(1, most + 1):
        assert do(service, queue.claim, row_id, after=lost * queue.lease) is not None
    assert do(service, queue.claim, row_id, after=(most + 1) * queue.lease - MOMENT) is None
    assert job_of(service, queue, row_id).state is JobState.CLAIMED
    assert do(service, queue.claim, row_id, after=(most + 1) * queue.lease) is None
    job = job_of(service, queue, row_id)
    assert (job.state, job.token, job.finished_at) == (
        JobState.FAILED,
        None,
        service.now + (most + 1) * queue.lease,
    )
    assert f"Incident {job.incident}: {queue.queue.__name__} {row_id} failed after losing" in caplog.text


@of_jobs
def test_outage_is_tolerated_for_a_day_and_then_counts_as_an_error(service, queue, row_id, caplog):
    for after in (timedelta(), OUTAGE_PATIENCE - MOMENT):
        claim = do(service, queue.claim, row_id, after=after)
        assert do(service, queue.record, claim, Outage(), after=after)
        job = job_of(service, queue, row_id)
        assert (job.state, job.error_count, job.attempt_count) == (JobState.WAITING, 0, 0)
        assert job.available_at == service.now + after + leased_rows.OUTAGE_DELAY
        assert not do(service, queue.record, claim, Outage(), after=after)
    for error in range(len(ERROR_PAUSES[queue.queue]) + 1):
        after = OUTAGE_PATIENCE + timedelta(minutes=error)
        claim = do(service, queue.claim, row_id, after=after + leased_rows.OUTAGE_DELAY)
        assert do(service, queue.record, claim, Outage(), after=after)
        assert job_of(service, queue, row_id).error_count == error + 1
    failed = job_of(service, queue, row_id)
    assert failed.state is JobState.FAILED and f"Incident {failed.incident}: storage" in caplog.text


def free(service, *holders):
    freed: int = do(service, leased_rows.free, holders=holders)
    return freed


def found(service, machine="here"):
    with service.database.read() as session:
        return leased_rows.holders(session, machine=machine, now=service.now)


@of_jobs
def test_job_of_a_dead_holder_is_freed_a_few_times_and_then_waits_for_its_lease(service, queue, row_id):
    """Without the wait, a file that kills its readers would use up all leases within seconds.

    So would a machine that has run out of memory.
    """
    do(
        service, queue.record, do(service, queue.claim, row_id), Breakdown("x"), after=-timedelta(hours=1)
    )  # An error does not mean that the holder is lost.
    most = FREED_AT_ONCE
    for lost in range(1, most + 2):
        assert do(service, queue.claim, row_id, holder=DEAD) is not None
        assert found(service) == {DEAD}
        assert free(service, DEAD) == (lost <= most)
    job = job_of(service, queue, row_id)
    assert (job.state, job.attempt_count, job.error_count) == (JobState.CLAIMED, most + 2, 1)


@of_jobs
def test_holder_wrongly_considered_dead_writes_no_second_result(service, queue, row_id):
    late = do(service, queue.claim, row_id, holder=DEAD)
    free(service, DEAD)
    current = do(service, queue.claim, row_id, holder=ALIVE)
    assert late.token != current.token
    assert not do(service, queue.record, late, Rejection([]))
    assert do(service, queue.record, current, Rejection([]))
    assert (found(service), free(service, ALIVE)) == (set(), 0)


def test_only_claims_of_dead_holders_are_freed(service, predictions_csv):
    competition, queue = service.competition(), ScoringQueue()
    files = [predictions_csv(seed=seed) for seed in range(3)]
    job_ids = [job_id for file in files for job_id in service.submit(competition, csv=file).job_ids]
    for job_id, holder in zip(job_ids, (DEAD, ALIVE, ELSEWHERE), strict=True):
        assert do(service, queue.claim, job_id, holder=holder) is not None
    assert found(service) == {DEAD, ALIVE}
    assert free(service, DEAD) == 1
    assert found(service) == {ALIVE}
    assert [do(service, queue.claim, job_id) is not None for job_id in job_ids] == [True, False, False]


@on_sqlite
def test_host_name_with_wildcards_matches_only_itself(service):
    queue = ScoringQueue()
    do(service, queue.claim, queue.add(service), holder="h_re/17/1.00")
    assert (found(service, "h_re"), found(service, "here")) == ({"h_re/17/1.00"}, set())

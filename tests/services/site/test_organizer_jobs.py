"""Organizers' jobs: order, lease extensions, discarded jobs, on both databases."""

from datetime import timedelta

import pytest

from grader.models import Competition, OrganizerJob, OrganizerJobKind
from grader.services.site import organizer_jobs
from grader.services.site.organizer_jobs import LEASE, OrganizerClaim, Result

pytestmark = pytest.mark.both_databases

SECOND = timedelta(seconds=1)


@pytest.fixture
def competition(service) -> Competition:
    made: Competition = service.competition()
    return made


@pytest.fixture
def job(service, competition: Competition) -> OrganizerJob:
    return add(service, competition)


def add(
    service,
    competition: Competition,
    kind: OrganizerJobKind = OrganizerJobKind.CHECK,
    **parameters,
) -> OrganizerJob:
    return service.act(
        organizer_jobs.add, competition=competition, kind=kind, parameters=parameters, created_by=None
    )


def claim(service, job: OrganizerJob, *, after: timedelta = timedelta()) -> OrganizerClaim | None:
    return service.act(organizer_jobs.claim, job_id=job.id, after=after)


def claimed(service, job: OrganizerJob, *, after: timedelta = timedelta()) -> OrganizerClaim:
    found = claim(service, job, after=after)
    assert found is not None
    return found


def do(service, act, *, after: timedelta = timedelta(), **what):
    return service.act(act, **what, after=after)


def reload(service, job: OrganizerJob) -> OrganizerJob:
    with service.database.read() as session:
        found: OrganizerJob = session.get_one(OrganizerJob, job.id)
        return found


def test_jobs_are_claimed_oldest_first_and_by_one_worker(service, competition: Competition):
    first, second = add(service, competition, file="a"), add(service, competition, file="b")
    with service.database.read() as session:
        assert organizer_jobs.waiting(session, limit=9, now=service.now) == [first.id, second.id]
    assert claimed(service, first).parameters == {"file": "a"}
    assert claim(service, first) is None
    with service.database.read() as session:
        assert organizer_jobs.waiting(session, limit=9, now=service.now) == [second.id]


def test_checks_of_solutions_and_statistics_have_their_own_lanes(service, competition: Competition):
    data = add(service, competition, OrganizerJobKind.DATA)
    check = add(service, competition, OrganizerJobKind.CHECK)
    with service.database.read() as session:
        assert organizer_jobs.waiting(session, limit=9, now=service.now) == [check.id, data.id]
        assert organizer_jobs.waiting(session, limit=9, now=service.now, lane="checks") == [check.id]
        assert organizer_jobs.waiting(session, limit=9, now=service.now, lane="organizers") == [data.id]
    errors = add(service, competition, OrganizerJobKind.ERRORS)
    awaited = add(service, competition, OrganizerJobKind.COMPARE)
    with service.database.read() as session:
        found = organizer_jobs.waiting(session, limit=9, now=service.now, lane="statistics")
        assert found == [awaited.id, errors.id]
        assert organizer_jobs.waiting(session, limit=9, now=service.now, lane="organizers") == [data.id]


def test_competitions_take_turns_regardless_of_their_number_of_jobs(service, competition: Competition):
    greedy = [add(service, competition, OrganizerJobKind.DATA) for _ in range(4)]
    other = add(service, service.competition("other"), OrganizerJobKind.DATA)

    def first(after: timedelta) -> int:
        with service.database.read() as session:
            return organizer_jobs.waiting(session, limit=1, now=service.now + after, lane="organizers")[0]

    assert first(SECOND) == greedy[0].id
    mine = claimed(service, greedy[0])
    do(service, organizer_jobs.hand_back, after=SECOND, claim=mine)  # The job's time slice has ended.
    assert first(2 * SECOND) == other.id
    theirs = claimed(service, other, after=2 * SECOND)
    do(service, organizer_jobs.record, after=3 * SECOND, claim=theirs, outcome=Result({}))
    assert first(4 * SECOND) == greedy[1].id


def test_extended_lease_prevents_other_claims_and_stores_the_progress(service, job: OrganizerJob):
    mine = claimed(service, job)
    progress = {"done": 1, "total": 3, "words": "Reading"}
    assert do(service, organizer_jobs.extend, after=LEASE - SECOND, claim=mine, progress=progress)
    assert claim(service, job, after=LEASE) is None
    assert reload(service, job).progress == progress


def test_discarded_job_ends_and_is_no_longer_the_newest(service, competition: Competition, job: OrganizerJob):
    mine = claimed(service, job)
    with service.database.write() as session:
        found = organizer_jobs.get(session, competition=competition, job_id=job.id)
        organizer_jobs.dismiss(session, job=found, now=service.now)
    assert not do(service, organizer_jobs.record, claim=mine, outcome=Result({}))
    with service.database.read() as session:
        kind = OrganizerJobKind.CHECK
        assert organizer_jobs.newest(session, competition=competition, kind=kind) == []


def test_job_of_another_competition_is_not_found(service, job: OrganizerJob):
    other = service.competition("other")
    with service.database.read() as session, pytest.raises(organizer_jobs.UnknownOrganizerJob):
        organizer_jobs.get(session, competition=other, job_id=job.id)

"""Organizers' jobs: claims, leases that are extended, tokens and ends, on both kinds of database."""

from datetime import timedelta
from typing import Any

import pytest

from grader.models import Competition, JobState, OrganizerJob, OrganizerJobKind
from grader.services.jobs import organizer_jobs
from grader.services.jobs.organizer_jobs import LEASE, MAX_ERRORS, MAX_LOST_LEASES, OrganizerClaim

SECOND = timedelta(seconds=1)


@pytest.fixture
def competition(service: Any) -> Competition:
    made: Competition = service.competition()
    return made


@pytest.fixture
def job(service: Any, competition: Competition) -> OrganizerJob:
    return add(service, competition)


def add(
    service: Any,
    competition: Competition,
    kind: OrganizerJobKind = OrganizerJobKind.CHECK,
    **parameters: Any,
) -> OrganizerJob:
    with service.database.write() as session:
        return organizer_jobs.add(
            session,
            competition=competition,
            kind=kind,
            parameters=parameters,
            created_by=None,
            now=service.now,
        )


def claim(service: Any, job: OrganizerJob, *, after: timedelta = timedelta()) -> OrganizerClaim | None:
    with service.database.write() as session:
        return organizer_jobs.claim(session, job_id=job.id, now=service.now + after)


def claimed(service: Any, job: OrganizerJob, *, after: timedelta = timedelta()) -> OrganizerClaim:
    found = claim(service, job, after=after)
    assert found is not None
    return found


def do(service: Any, act: Any, *, after: timedelta = timedelta(), **what: Any) -> Any:
    with service.database.write() as session:
        return act(session, now=service.now + after, **what)


def reload(service: Any, job: OrganizerJob) -> OrganizerJob:
    with service.database.read() as session:
        found: OrganizerJob = session.get_one(OrganizerJob, job.id)
        return found


def test_jobs_are_claimed_oldest_first_and_by_one(service: Any, competition: Competition) -> None:
    first, second = add(service, competition, file="a"), add(service, competition, file="b")
    with service.database.read() as session:
        assert organizer_jobs.waiting(session, limit=9, now=service.now) == [first.id, second.id]
    assert claimed(service, first).parameters == {"file": "a"}
    assert claim(service, first) is None
    with service.database.read() as session:
        assert organizer_jobs.waiting(session, limit=9, now=service.now) == [second.id]


def test_checks_of_solutions_have_a_lane_of_their_own(service: Any, competition: Competition) -> None:
    data = add(service, competition, OrganizerJobKind.DATA)
    check = add(service, competition, OrganizerJobKind.CHECK)
    with service.database.read() as session:
        assert organizer_jobs.waiting(session, limit=9, now=service.now) == [check.id, data.id]
        assert organizer_jobs.waiting(session, limit=9, now=service.now, checks=True) == [check.id]
        assert organizer_jobs.waiting(session, limit=9, now=service.now, checks=False) == [data.id]


def test_competitions_take_turns_however_many_jobs_one_has(service: Any, competition: Competition) -> None:
    greedy = [add(service, competition, OrganizerJobKind.DATA) for _ in range(4)]
    other = add(service, service.competition("other"), OrganizerJobKind.DATA)

    def first(after: timedelta) -> int:
        with service.database.read() as session:
            return organizer_jobs.waiting(session, limit=1, now=service.now + after, checks=False)[0]

    assert first(SECOND) == greedy[0].id
    mine = claimed(service, greedy[0])
    do(service, organizer_jobs.hand_back, after=SECOND, claim=mine)  # its turn is over
    assert first(2 * SECOND) == other.id
    theirs = claimed(service, other, after=2 * SECOND)
    do(service, organizer_jobs.record_result, after=3 * SECOND, claim=theirs, result={})
    assert first(4 * SECOND) == greedy[1].id


def test_a_lease_that_is_extended_keeps_others_away_and_shows_the_progress(
    service: Any, job: OrganizerJob
) -> None:
    mine = claimed(service, job)
    progress = {"done": 1, "total": 3, "words": "Reading"}
    assert do(service, organizer_jobs.extend, after=LEASE - SECOND, claim=mine, progress=progress)
    assert claim(service, job, after=LEASE) is None
    assert reload(service, job).progress == progress


def test_a_lost_lease_starts_the_job_afresh_and_fences_the_late_holder_off(
    service: Any, job: OrganizerJob
) -> None:
    late = claimed(service, job)
    current = claimed(service, job, after=LEASE)
    assert not do(service, organizer_jobs.extend, claim=late)
    assert not do(service, organizer_jobs.record_result, claim=late, result={"late": True})
    assert not do(service, organizer_jobs.record_rejection, claim=late, problems=[])
    assert not do(service, organizer_jobs.record_error, claim=late, incident="x")
    assert do(service, organizer_jobs.record_result, claim=current, result={"late": False})
    assert reload(service, job).state is JobState.DONE
    assert reload(service, job).result == {"late": False}


def test_a_job_that_kills_its_workers_fails_in_the_end(service: Any, job: OrganizerJob) -> None:
    for lost in range(MAX_LOST_LEASES):
        claimed(service, job, after=LEASE * lost)
    assert claim(service, job, after=LEASE * MAX_LOST_LEASES) is None
    assert reload(service, job).state is JobState.FAILED
    assert reload(service, job).incident


def test_an_exception_is_tried_again_and_then_a_failure_with_its_incident(
    service: Any, job: OrganizerJob
) -> None:
    for attempt in range(MAX_ERRORS):
        after = timedelta(minutes=attempt)
        mine = claimed(service, job, after=after)
        assert do(service, organizer_jobs.record_error, after=after, claim=mine, incident=f"i{attempt}")
    assert reload(service, job).state is JobState.FAILED
    assert reload(service, job).incident == f"i{MAX_ERRORS - 1}"


def test_an_outage_of_the_storage_is_waited_out_for_a_day_and_counts_from_then_on(
    service: Any, job: OrganizerJob
) -> None:
    for hours in (0, 1, 23):
        mine = claimed(service, job, after=timedelta(hours=hours))
        assert do(service, organizer_jobs.record_outage, after=timedelta(hours=hours), claim=mine)
        waiting = reload(service, job)
        assert (waiting.state, waiting.error_count, waiting.attempt_count) == (JobState.WAITING, 0, 0)
        assert waiting.available_at > service.now + timedelta(hours=hours)
        assert not do(service, organizer_jobs.record_outage, claim=mine)
    for days in range(1, 1 + MAX_ERRORS):
        mine = claimed(service, job, after=timedelta(days=days))
        assert do(service, organizer_jobs.record_outage, after=timedelta(days=days), claim=mine)
    assert reload(service, job).state is JobState.FAILED
    assert reload(service, job).incident


def test_a_job_that_is_put_away_ends_and_is_no_longer_the_newest(
    service: Any, competition: Competition, job: OrganizerJob
) -> None:
    mine = claimed(service, job)
    with service.database.write() as session:
        found = organizer_jobs.get(session, competition=competition, job_id=job.id)
        organizer_jobs.dismiss(session, job=found, now=service.now)
    assert not do(service, organizer_jobs.record_result, claim=mine, result={})
    with service.database.read() as session:
        kind = OrganizerJobKind.CHECK
        assert organizer_jobs.newest(session, competition=competition, kind=kind) == []


def test_another_competitions_job_is_unknown(service: Any, job: OrganizerJob) -> None:
    other = service.competition("other")
    with service.database.read() as session, pytest.raises(organizer_jobs.UnknownOrganizerJob):
        organizer_jobs.get(session, competition=other, job_id=job.id)

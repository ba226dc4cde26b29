"""Organizers' jobs: order, lease extensions, discarded jobs, on both databases."""

from datetime import timedelta

import pytest

from grader.models import OrganizerJob, OrganizerJobKind
from grader.services.site import organizer_jobs
from grader.services.site.organizer_jobs import LEASE

pytestmark = pytest.mark.both_databases

SECOND = timedelta(seconds=1)


@pytest.fixture
def competition(service):
    return service.competition()


@pytest.fixture
def job(service, competition):
    return add(service, competition)


def add(service, competition, kind=OrganizerJobKind.CHECK, **parameters):
    return service.act(organizer_jobs.add, competition=competition, kind=kind, parameters=parameters)


def claim(service, job, *, after=timedelta()):
    return service.act(organizer_jobs.claim, job_id=job.id, after=after)


def waiting(service, lane):
    with service.database.read() as session:
        return organizer_jobs.waiting(session, lane=lane, now=service.now)


def test_jobs_are_claimed_oldest_first_and_by_one_worker(service, competition):
    first, second = add(service, competition, file="a"), add(service, competition, file="b")
    assert waiting(service, "checks") == first.id
    assert claim(service, first).parameters == {"file": "a"}
    assert claim(service, first) is None
    assert waiting(service, "checks") == second.id


def test_checks_of_solutions_and_statistics_have_their_own_lanes(service, competition):
    data, check, _, awaited = (
        add(service, competition, kind)
        for kind in (
            OrganizerJobKind.DATA,
            OrganizerJobKind.CHECK,
            OrganizerJobKind.ERRORS,
            OrganizerJobKind.COMPARE,
        )
    )
    lanes = {lane: waiting(service, lane) for lane in organizer_jobs.LANES}
    assert lanes == {"checks": check.id, "organizers": data.id, "statistics": awaited.id}


def test_extended_lease_prevents_other_claims_and_stores_the_progress(service, job):
    mine = claim(service, job)
    progress = {"done": 1, "total": 3, "words": "Reading"}
    assert service.act(organizer_jobs.extend, after=LEASE - SECOND, claim=mine, progress=progress)
    assert claim(service, job, after=LEASE) is None
    with service.database.read() as session:
        assert session.get_one(OrganizerJob, job.id).progress == progress


def test_discarded_job_ends_and_is_no_longer_the_newest(service, competition, job):
    mine = claim(service, job)
    with service.database.write() as session:
        found = organizer_jobs.get(session, competition=competition, job_id=job.id)
        organizer_jobs.dismiss(session, job=found, now=service.now)
    assert not service.act(organizer_jobs.record, claim=mine, outcome={})
    with service.database.read() as session:
        kind = OrganizerJobKind.CHECK
        assert organizer_jobs.newest(session, competition=competition, kind=kind) == []


def test_job_of_another_competition_is_not_found(service, job):
    other = service.competition("other")
    with service.database.read() as session, pytest.raises(organizer_jobs.UnknownOrganizerJob):
        organizer_jobs.get(session, competition=other, job_id=job.id)

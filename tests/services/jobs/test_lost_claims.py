"""Claims of processes that died are free before their lease ends, on both kinds of database."""

from datetime import timedelta
from typing import Any

import pytest

from grader.models import JobState, OrganizerJob, OrganizerJobKind, ScoringJob
from grader.services.jobs import lost_claims, organizer_jobs
from grader.services.jobs.lost_claims import FREED_AT_ONCE
from grader.services.scoring import jobs
from grader.services.scoring.jobs import Breakdown, Rejection

LEASE = timedelta(seconds=40)
DEAD, ALIVE, ELSEWHERE = "here/17/1.00", "here/18/1.00", "there/17/1.00"


@pytest.fixture
def job_ids(service: Any, predictions_csv: Any) -> list[int]:
    competition = service.competition()
    files = [predictions_csv(seed=seed) for seed in range(3)]
    return [job_id for file in files for job_id in service.submit(competition, csv=file).job_ids]


def claim(service: Any, job_id: int, holder: str | None) -> jobs.Claim | None:
    with service.database.write() as session:
        return jobs.claim(session, job_id=job_id, lease=LEASE, now=service.now, holder=holder)


def free(service: Any, *holders: str) -> int:
    with service.database.write() as session:
        return lost_claims.free(session, holders=holders, now=service.now)


def found(service: Any, machine: str = "here") -> set[str]:
    with service.database.read() as session:
        return lost_claims.holders(session, machine=machine, now=service.now)


def test_only_the_claims_of_the_dead_are_free(service: Any, job_ids: list[int]) -> None:
    for job_id, holder in zip(job_ids, (DEAD, ALIVE, ELSEWHERE), strict=True):
        assert claim(service, job_id, holder) is not None
    assert found(service) == {DEAD, ALIVE}
    assert free(service, DEAD) == 1
    assert found(service) == {ALIVE}
    assert [claim(service, job_id, ALIVE) is not None for job_id in job_ids] == [True, False, False]


def test_a_machine_whose_name_has_wildcards_finds_only_its_own(service: Any, job_ids: list[int]) -> None:
    claim(service, job_ids[0], "h_re/17/1.00")
    claim(service, job_ids[1], DEAD)
    assert found(service, "h_re") == {"h_re/17/1.00"}


def test_a_claim_of_an_older_version_waits_for_its_lease(service: Any, job_ids: list[int]) -> None:
    claim(service, job_ids[0], None)
    assert found(service) == set()
    assert claim(service, job_ids[0], ALIVE) is None


def test_one_that_was_only_thought_dead_writes_no_second_result(service: Any, job_ids: list[int]) -> None:
    late = claim(service, job_ids[0], DEAD)
    free(service, DEAD)
    current = claim(service, job_ids[0], ALIVE)
    assert late is not None and current is not None and late.token != current.token
    with service.database.write() as session:
        result = {"job_id": job_ids[0], "outcome": Rejection([]), "now": service.now}
        assert not jobs.record(session, token=late.token, **result)
        assert jobs.record(session, token=current.token, **result)


def test_a_job_that_lost_its_holders_again_and_again_waits_for_its_lease(
    service: Any, job_ids: list[int]
) -> None:
    """Or a file that kills its readers, or a machine without memory, would use up ten leases in seconds."""
    for attempt in range(1, FREED_AT_ONCE + 2):
        taken = claim(service, job_ids[0], DEAD)
        assert taken is not None and taken.attempt == attempt
        assert free(service, DEAD) == (attempt <= FREED_AT_ONCE)
    with service.database.read() as session:
        job = session.get_one(ScoringJob, job_ids[0])
    assert (job.state, job.attempt_count, job.error_count) == (JobState.CLAIMED, FREED_AT_ONCE + 1, 0)


def test_errors_of_our_own_are_no_lost_holders(service: Any, job_ids: list[int]) -> None:
    taken = claim(service, job_ids[0], DEAD)
    assert taken is not None
    with service.database.write() as session:
        jobs.record(
            session, job_id=job_ids[0], token=taken.token, outcome=Breakdown("x"), now=service.now - LEASE
        )
    for _ in range(FREED_AT_ONCE):
        assert claim(service, job_ids[0], DEAD) is not None
        assert free(service, DEAD) == 1


def test_a_job_that_is_through_stays_so(service: Any, job_ids: list[int]) -> None:
    taken = claim(service, job_ids[0], DEAD)
    assert taken is not None
    with service.database.write() as session:
        jobs.record(session, job_id=job_ids[0], token=taken.token, outcome=Rejection([]), now=service.now)
    assert found(service) == set()
    assert free(service, DEAD) == 0


def test_organizers_jobs_are_freed_once(service: Any) -> None:
    competition = service.competition()
    with service.database.write() as session:
        job = organizer_jobs.add(
            session,
            competition=competition,
            kind=OrganizerJobKind.VERIFY,
            parameters={},
            created_by=None,
            now=service.now,
        )
    for freed in (1, 0):
        with service.database.write() as session:
            taken = organizer_jobs.claim(session, job_id=job.id, now=service.now, holder=DEAD)
        assert taken is not None and found(service) == {DEAD}
        assert free(service, DEAD) == freed
    with service.database.read() as session:
        assert session.get_one(OrganizerJob, job.id).attempt_count == 2

"""Rescoring batches: joint claims and results, one token per job, on both databases."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import JobState, Score, ScoringJob, ScoringVersion, ScoringVersionState, Standing
from grader.services.site.leased_rows import Breakdown, Rejection
from grader.services.submissions import scoring_jobs as scoring
from grader.worker.calculator import Calculator

pytestmark = pytest.mark.both_databases

LEASE = timedelta(seconds=40)


@pytest.fixture
def competition(service):
    """A competition with four scored submissions from three teams."""
    competition = service.competition()
    for number, name in enumerate(("ada", "bob", "cleo", "ada")):
        service.score(service.submit(competition, user=name, seed=number, skill=number / 10))
    return service.reload(competition)


@pytest.fixture
def version(prepare_version, competition):
    """A scoring version in preparation, with a job for each submission."""
    return prepare_version(competition)


def claim(service, version, *, limit=10, after=timedelta()):
    with service.database.write() as session:
        now = service.now + after
        return scoring.claim_batch(session, scoring_version_id=version.id, limit=limit, lease=LEASE, now=now)


def record(service, claims, outcomes, *, after=timedelta()):
    ids = [each.job_id for each in claims]
    return service.act(scoring.record, job_ids=ids, token=claims[0].token, outcomes=outcomes, after=after)


def compute(storage, claims):
    calculator = Calculator(storage, None)
    return {each.job_id: calculator.outcome(each) for each in claims}


def jobs(service, version):
    with service.database.read() as session:
        found = session.scalars(select(ScoringJob).where(ScoringJob.scoring_version_id == version.id))
        return {job.id: job for job in found}


def unattended(service, *, after):
    with service.database.read() as session:
        return bool(session.scalar(select(scoring.are_unattended(service.now + after))))


def facts(service, version_id):
    """Return the scores and standings under a scoring version."""
    with service.database.read() as session:
        scores = session.scalars(select(Score).where(Score.scoring_version_id == version_id))
        rows = session.scalars(select(Standing).where(Standing.scoring_version_id == version_id))
        return (
            {(score.submission_id, score.split): (score.score, score.evidence) for score in scores},
            {(row.team_id, row.split): (row.submission_id, row.score_units) for row in rows},
        )


def test_batch_writes_the_same_rows_as_individual_jobs(service, competition, version, prepare_version):
    claims = claim(service, version)
    assert len(claims) == 4 and len({each.token for each in claims}) == 1
    assert record(service, claims, compute(service.storage, claims)) == 4
    together = facts(service, version.id)
    assert {job.state for job in jobs(service, version).values()} == {JobState.DONE}
    with service.database.write() as session:
        session.get_one(ScoringVersion, version.id).state = ScoringVersionState.DROPPED
    twin = prepare_version(competition)
    service.run(*jobs(service, twin))
    assert facts(service, twin.id) == together
    assert len(together[1]) == 3


def test_two_batches_share_no_job(service, version):
    first, second = claim(service, version, limit=3), claim(service, version, limit=3)
    assert (len(first), len(second)) == (3, 1)
    assert {each.job_id for each in first}.isdisjoint(each.job_id for each in second)
    assert claim(service, version) == []


def test_job_that_lost_its_token_is_skipped_and_the_others_are_recorded(service, version):
    claims = claim(service, version)
    lost = claims[2].job_id
    with service.database.write() as session:
        session.get_one(ScoringJob, lost).token = "another's"
    assert record(service, claims, compute(service.storage, claims)) == 3
    states = {job_id: job.state for job_id, job in jobs(service, version).items()}
    assert states.pop(lost) is JobState.CLAIMED
    assert set(states.values()) == {JobState.DONE}
    assert record(service, claims, compute(service.storage, claims)) == 0


def test_every_kind_of_outcome_ends_its_own_job_only(service, version):
    claims = claim(service, version)
    outcomes = compute(service.storage, claims)
    scored, rejected, broken, unreached = (each.job_id for each in claims)
    outcomes |= {rejected: Rejection([{"code": "x"}]), broken: Breakdown("abc")}
    del outcomes[unreached]
    assert record(service, claims, outcomes) == 3
    after = jobs(service, version)
    assert (after[scored].state, after[rejected].state) == (JobState.DONE, JobState.REJECTED)
    assert (after[broken].state, after[broken].error_count) == (JobState.WAITING, 1)
    assert after[broken].available_at > service.now
    waiting = after[unreached]
    assert (waiting.state, waiting.attempt_count, waiting.token) == (JobState.WAITING, 0, None)
    assert [each.job_id for each in claim(service, version)] == [unreached]


def test_job_that_lost_a_lease_is_claimed_separately_and_after_new_ones(service, version):
    lost = claim(service, version, limit=2)
    fresh = claim(service, version, after=LEASE)
    assert {each.job_id for each in fresh}.isdisjoint(each.job_id for each in lost) and len(fresh) == 2
    record(service, fresh, compute(service.storage, fresh))
    alone = [claim(service, version, after=LEASE) for _ in range(3)]
    assert [len(each) for each in alone] == [1, 1, 0]
    assert {each[0].job_id for each in alone[:2]} == {each.job_id for each in lost}
    assert {each[0].attempt for each in alone[:2]} == {2}


def test_version_is_unattended_when_jobs_wait_and_none_is_claimed(service, version):
    second = timedelta(seconds=1)
    assert unattended(service, after=10 * second)
    held = claim(service, version, limit=1, after=10 * second)
    assert unattended(service, after=20 * second) is False
    assert unattended(service, after=10 * second + LEASE)
    record(service, held, compute(service.storage, held))
    rest = claim(service, version, after=20 * second)
    record(service, rest, compute(service.storage, rest))
    assert unattended(service, after=timedelta(days=1)) is False


def test_only_a_version_in_preparation_is_scored_in_batches(service, version):
    with service.database.write() as session:
        session.get_one(ScoringVersion, version.id).state = ScoringVersionState.RETIRED
    assert claim(service, version) == []
    assert unattended(service, after=timedelta(days=1)) is False

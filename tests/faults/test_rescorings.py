"""kill -9 during a rescoring: continuation without repeating committed results."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import select, update

from grader.models import JobState, Score, ScoringJob, ScoringVersion
from grader.settings import Settings

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
FILES = 130  # More than one batch.
FEW = 12


@pytest.fixture
def settings(make_settings: Callable[..., Settings], valkey) -> Settings:
    """Settings with which a sweeper claims free jobs immediately."""
    return make_settings(broker_url=SecretStr(valkey.url), sweep_after_seconds=0)


@pytest.fixture
def competition(service):
    return service.competition()


@pytest.fixture
def files() -> int:
    """The number of submissions: more than one batch."""
    return FILES


@pytest.fixture
def accepted(service, competition, files: int) -> list[Any]:
    """Scored submissions."""
    accepted = [service.submit(competition, seed=seed, user=f"user{seed % 9}") for seed in range(files)]
    service.score(*accepted)
    return accepted


@pytest.fixture
def version(competition, accepted: list[Any], prepare_version) -> ScoringVersion:
    """A scoring version in preparation."""
    prepared: ScoringVersion = prepare_version(competition)
    return prepared


def jobs(service, version: ScoringVersion) -> dict[int, ScoringJob]:
    with service.database.read() as session:
        found = session.scalars(select(ScoringJob).where(ScoringJob.scoring_version_id == version.id))
        return {job.submission_id: job for job in found}


def count(service, version: ScoringVersion, state: JobState) -> int:
    return sum(job.state is state for job in jobs(service, version).values())


def score_ids(service, version: ScoringVersion) -> set[int]:
    with service.database.read() as session:
        return set(session.scalars(select(Score.id).where(Score.scoring_version_id == version.id)))


def let_leases_run_out(service):
    with service.database.write() as session:
        held = update(ScoringJob).where(ScoringJob.state == JobState.CLAIMED)
        session.execute(held.values(lease_until=service.now))


@pytest.mark.parametrize(
    "database_url", ["postgresql", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)
@pytest.mark.long
def test_sweeper_killed_in_its_second_batch_is_replaced_without_repeated_work(
    service, accepted: list[Any], version: ScoringVersion, processes, snag, eventually
):
    # The file is in the second batch, whose reader blocks here.
    caught = snag(accepted[-1])
    sweeper = processes.sweeper(service.settings)
    eventually(caught.holds)
    processes.kill(sweeper)
    committed = score_ids(service, version)
    done = count(service, version, JobState.DONE)
    # The first batch has 100 jobs, or fewer on a slow machine. The database may also claim the jobs in
    # another order.
    assert len(committed) == 2 * done < 2 * FILES
    caught.restore()
    let_leases_run_out(service)
    processes.sweeper(service.settings)
    eventually(lambda: count(service, version, JobState.DONE) == FILES)
    after = score_ids(service, version)
    assert len(after) == 2 * FILES and committed < after
    attempts = sorted(job.attempt_count for job in jobs(service, version).values())
    assert attempts[:done] == [1] * done


@on_sqlite
@pytest.mark.parametrize("files", [FEW])
def test_new_file_is_scored_while_a_rescoring_blocks(
    service,
    competition,
    accepted: list[Any],
    version: ScoringVersion,
    processes,
    snag,
    eventually,
):
    caught = snag(accepted[0])  # This snag is never released.
    processes.sweeper(service.settings)
    eventually(caught.holds)
    new = service.submit(competition, user="late", seed=1000)
    eventually(lambda: service.submission(new).finished_at is not None)
    assert jobs(service, version)[accepted[0].submission.id].state is not JobState.DONE


@pytest.mark.long
@on_sqlite
def test_file_that_kills_its_reader_blocks_no_other_score(
    service,
    accepted: list[Any],
    version: ScoringVersion,
    make_settings: Callable[..., Settings],
    processes,
    snag,
    eventually,
):
    """Kill one process after another. Jobs of a lost batch are claimed one by one."""
    settings = make_settings(
        scoring_time_limit_seconds=1,
        scoring_lease_seconds=2,
        sweep_after_seconds=0,
    )
    poison = accepted[3]
    # This snag is never released, so every reader reaches the time limit.
    caught = snag(poison)
    processes.sweeper(settings)
    eventually(caught.holds)
    assert count(service, version, JobState.CLAIMED) > 1
    with service.database.write() as session:
        job = session.get_one(ScoringJob, jobs(service, version)[poison.submission.id].id)
        job.attempt_count = 9  # As if the job had already lost eight leases.
    eventually(lambda: count(service, version, JobState.DONE) == FILES - 1)
    eventually(lambda: count(service, version, JobState.FAILED) == 1)
    assert jobs(service, version)[poison.submission.id].incident

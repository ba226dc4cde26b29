"""kill -9 during a rescoring: continuation without repeating committed results."""

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from grader.models import JobState, ScoringJob, ScoringVersion

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
FILES = 130  # More than one batch.
FEW = 12


@pytest.fixture
def settings(make_settings, valkey):
    """Settings with which a sweeper claims free jobs immediately."""
    return make_settings(broker_url=SecretStr(valkey.url), sweep_after_seconds=0)


@pytest.fixture
def competition(service):
    return service.competition()


@pytest.fixture
def files():
    """The number of submissions: more than one batch."""
    return FILES


@pytest.fixture
def accepted(service, competition, files):
    """Scored submissions."""
    accepted = [service.submit(competition, seed=seed, user=f"user{seed % 9}") for seed in range(files)]
    service.score(*accepted)
    return accepted


@pytest.fixture
def version(competition, accepted, prepare_version):
    """A scoring version in preparation."""
    prepared: ScoringVersion = prepare_version(competition)
    return prepared


def jobs(service, version):
    with service.database.read() as session:
        found = session.scalars(select(ScoringJob).where(ScoringJob.scoring_version_id == version.id))
        return {job.submission_id: job for job in found}


@on_sqlite
@pytest.mark.parametrize("files", [FEW])
def test_new_file_is_scored_while_a_rescoring_blocks(
    service, competition, accepted, version, processes, snag, eventually
):
    caught = snag(accepted[0])  # This snag is never released.
    processes.sweeper(service.settings)
    eventually(caught.holds)
    new = service.submit(competition, user="late", seed=1000)
    eventually(lambda: service.submission(new).finished_at is not None)
    assert jobs(service, version)[accepted[0].submission.id].state is not JobState.DONE

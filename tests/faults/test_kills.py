"""kill -9 of any process at the worst moment: no lost or repeated work."""

from datetime import UTC, datetime

import psutil
import pytest
from pydantic import SecretStr

from grader.models import JobState

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
# Workers use the same code path on both databases. In the short run, SQLite covers the sweeper and the web
# server.
sqlite_takes_long = pytest.mark.parametrize(
    "database_url", ["postgresql", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)


@pytest.fixture
def settings(make_settings, valkey):
    """Settings with which a sweeper claims free jobs immediately."""
    return make_settings(broker_url=SecretStr(valkey.url), sweep_after_seconds=0)


@sqlite_takes_long
def test_jobs_of_a_killed_process_are_scored_long_before_the_lease_ends(
    service, processes, snag, eventually, watch, predictions_csv, hint
):
    """Kill a scoring process, then a worker. Without the kills, the lease would last an hour."""
    patient = service.settings.model_copy(
        update={"scoring_time_limit_seconds": 3600, "sweep_after_seconds": 3600.0}
    )
    worker = processes.worker(patient)
    processes.sweeper(patient)
    for attempt, whom in enumerate(("child", "all")):
        # With equal predictions, the cached ranks would be used instead of the file.
        predictions = predictions_csv(seed=attempt)
        # The sweeper leaves a new file to the worker.
        age = datetime.now(UTC) - service.now
        accepted = service.submit(service.competition(f"cup-{attempt}"), csv=predictions, after=age)
        caught = snag(accepted)
        hint(*accepted.job_ids)
        eventually(caught.holds)
        assert watch.states()[-1] is JobState.CLAIMED
        caught.restore()
        if whom == "child":
            # psutil drops a child that seems older than its parent, for up to a second after the start.
            [child] = eventually(psutil.Process(worker.pid).children)
            child.kill()
        else:
            processes.kill(worker)
        eventually(watch.all_scored)
    assert watch.attempts() == [2, 2]
    assert watch.score_count() == 4


@sqlite_takes_long
def test_starting_worker_requests_jobs_whose_hints_its_predecessor_lost(
    service, processes, eventually, watch
):
    """Test hints that are lost with a killed worker; no sweeper runs in this test."""
    service.submit(service.competition())
    processes.worker(service.settings)
    eventually(watch.all_scored)


@on_sqlite
def test_sweeper_killed_while_scoring_loses_nothing(service, processes, snag, eventually, watch):
    accepted = service.submit(service.competition())
    caught = snag(accepted)
    sweeper = processes.sweeper(service.settings)
    eventually(caught.holds)
    processes.kill(sweeper)
    caught.restore()
    watch.let_leases_run_out()
    processes.sweeper(service.settings)
    eventually(watch.all_scored)
    assert watch.score_count() == 2
